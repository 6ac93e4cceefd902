// Compresses runs of bytes for transfer by zstd, each run separately, and decompresses them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace fastgpu::transfer {

/// The maximum length of a run, packed or unpacked. It limits the memory for unpacking.
inline constexpr std::size_t kLongestRun = 512UL * 1024;

/// Tries every run until one does not shrink, and then fewer and fewer runs: for random or
/// compressed data nearly none. Not thread-safe.
class Packer {
 public:
  Packer();
  /// Returns the packed run, valid until the next call; absent if packing is not worthwhile. `run`
  /// has at most kLongestRun bytes.
  std::optional<std::string_view> pack(std::string_view run);

 private:
  struct Release {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, Release> context_;
  std::string packed_;
  unsigned to_pass_ = 0;  // The number of runs still to skip.
  unsigned passed_ = 0;   // The number of runs skipped after the last one that did not shrink.
};

/// Reads `from` to its end and passes it on as one zstd frame with a checksum, which zstd(1) can
/// unpack.
void pack_all(int from, const std::function<void(std::string_view)>& to);

/// Unpacks the output of pack_all() or zstd(1). Not thread-safe.
class PackedStream {
 public:
  /// Borrows `from`, which is read to its end.
  explicit PackedStream(int from);
  /// Fills `out`. Returns less only at the end. Throws ErrorKind::usage for data that is not packed
  /// or is incomplete.
  std::size_t read(std::span<char> out);

 private:
  struct Release {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, Release> context_;
  int from_;
  std::string piece_;     // A buffer of packed bytes.
  std::size_t size_ = 0;  // The number of bytes in the buffer.
  std::size_t at_ = 0;    // The number of these that are unpacked already.
  bool is_amid_ = false;  // True in the middle of a frame: more bytes must follow.
};

/// Unpacks single runs. Not thread-safe.
class Unpacker {
 public:
  Unpacker();
  /// Returns a run of exactly `size` bytes, valid until the next call. Throws ErrorKind::remote for
  /// malformed data, and for an empty run or one longer than kLongestRun.
  std::string_view unpack(std::string_view packed, std::size_t size);

 private:
  struct Release {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, Release> context_;
  std::string run_;
};

}  // namespace fastgpu::transfer
