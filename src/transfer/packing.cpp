#include "transfer/packing.hpp"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/error.hpp"

namespace fastgpu::transfer {
namespace {

/// The compression level. Its output is a tenth larger than that of level 1, but unpacks in two
/// thirds of the time; every node of a chain unpacks, while only one packs.
constexpr int kLevel = -1;
/// The least worthwhile saving is an eighth.
constexpr std::size_t kWorth = 8;
constexpr unsigned kMostPassed = 16;

/// Returns the number of bytes read; 0 at the end.
std::size_t read_some(int from, std::string& piece) {
  for (;;) {
    const ssize_t size = ::read(from, piece.data(), piece.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR) throw system_error("reading what is packed", errno);
  }
}

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
  // The output does not fit into the buffer, which has the size of a worthwhile result.
  if (ZSTD_isError(size) != 0) {
    passed_ = std::clamp(2 * passed_, 1U, kMostPassed);
    to_pass_ = passed_;
    return std::nullopt;
  }
  passed_ = 0;
  return std::string_view(packed_).substr(0, size);
}

void pack_all(int from, const std::function<void(std::string_view)>& to) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string piece(ZSTD_CStreamInSize(), '\0');
  std::string packed(ZSTD_CStreamOutSize(), '\0');
  for (bool is_over = false; !is_over;) {
    const std::size_t size = read_some(from, piece);
    is_over = size == 0;
    ZSTD_inBuffer in{piece.data(), size, 0};
    for (bool is_taken = false; !is_taken;) {
      ZSTD_outBuffer out{packed.data(), packed.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(context.get(), &out, &in, is_over ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0)
        throw Error(ErrorKind::local, std::string("packing: ") + ZSTD_getErrorName(left));
      to(std::string_view(packed).substr(0, out.pos));
      is_taken = is_over ? left == 0 : in.pos == in.size;
    }
  }
}

void PackedStream::Release::operator()(ZSTD_DCtx_s* context) const noexcept {
  ZSTD_freeDCtx(context);
}

PackedStream::PackedStream(int from)
    : context_(ZSTD_createDCtx()), from_(from), piece_(ZSTD_DStreamInSize(), '\0') {
  if (!context_) throw std::bad_alloc();
}

std::size_t PackedStream::read(std::span<char> out) {
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (to.pos < to.size) {
    if (at_ < size_ || is_amid_) {
      ZSTD_inBuffer in{piece_.data(), size_, at_};
      const std::size_t made = to.pos;
      const std::size_t left = ZSTD_decompressStream(context_.get(), &to, &in);
      if (ZSTD_isError(left) != 0)
        throw Error(ErrorKind::usage,
                    std::string("it cannot be unpacked: ") + ZSTD_getErrorName(left));
      if (in.pos > at_ || to.pos > made) {
        at_ = in.pos;
        is_amid_ = left != 0;
        continue;
      }
    }
    size_ = read_some(from_, piece_);
    at_ = 0;
    if (size_ > 0) continue;
    if (is_amid_) throw Error(ErrorKind::usage, "it is cut off");
    break;
  }
  return to.pos;
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
