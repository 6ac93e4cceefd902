#include "transfer/packing.hpp"

#include <zstd.h>

#include <algorithm>
#include <new>

#include "base/error.hpp"

namespace fastgpu::transfer {
namespace {

/// A tenth larger than level 1 makes it, and whole again in two thirds of the time: every node of a
/// chain unpacks, one packs.
constexpr int kLevel = -1;
/// Below an eighth it is not worth unpacking.
constexpr std::size_t kWorth = 8;
constexpr unsigned kMostPassed = 16;

Error malformed(const std::string& what) {
  return {ErrorKind::remote, "the stream of files is malformed: " + what};
}

}  // namespace

void Packer::Release::operator()(ZSTD_CCtx_s* context) const noexcept {
  ZSTD_freeCCtx(context);
}

Packer::Packer() : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
}

std::optional<std::string_view> Packer::pack(std::string_view run) {
  if (to_pass_ > 0) {
    --to_pass_;
    return std::nullopt;
  }
  const std::size_t most = run.size() - run.size() / kWorth;
  if (packed_.size() < most) packed_.resize(most);
  const std::size_t size =
      ZSTD_compressCCtx(context_.get(), packed_.data(), most, run.data(), run.size(), kLevel);
  if (ZSTD_isError(size) != 0) {  // It has no room in what it should shrink to.
    passed_ = std::clamp(2 * passed_, 1U, kMostPassed);
    to_pass_ = passed_;
    return std::nullopt;
  }
  passed_ = 0;
  return std::string_view(packed_).substr(0, size);
}

void Unpacker::Release::operator()(ZSTD_DCtx_s* context) const noexcept {
  ZSTD_freeDCtx(context);
}

Unpacker::Unpacker() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

std::string_view Unpacker::unpack(std::string_view packed, std::size_t size) {
  if (size == 0 || size > kLongestRun)
    throw malformed("a run of " + std::to_string(size) + " bytes");
  if (run_.size() < size) run_.resize(size);
  const std::size_t made =
      ZSTD_decompressDCtx(context_.get(), run_.data(), size, packed.data(), packed.size());
  if (made != size) throw malformed("a run that cannot be unpacked");
  return std::string_view(run_).substr(0, size);
}

}  // namespace fastgpu::transfer
