// Runs of bytes made smaller for the way, each by itself, and made whole again. zstd behind it.
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

/// No run is longer, packed or whole: what unpacking takes of memory.
inline constexpr std::size_t kLongestRun = 512UL * 1024;

/// Tries every run until one does not shrink, and then fewer and fewer: of data that is random or
/// packed already nearly none. Not thread-safe.
class Packer {
 public:
  Packer();
  /// Absent where it is not worth it. Valid until the next call; `run` is at most kLongestRun.
  std::optional<std::string_view> pack(std::string_view run);

 private:
  struct Release {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_CCtx_s, Release> context_;
  std::string packed_;
  unsigned to_pass_ = 0;  // So many runs are not tried.
  unsigned passed_ = 0;   // So many were not, when one did not shrink last.
};

/// All that can be read from `from`, to its end, as one frame that zstd(1) unpacks, with a
/// checksum.
void pack_all(int from, const std::function<void(std::string_view)>& to);

/// What pack_all or zstd(1) has made of something, whole again. Not thread-safe.
class PackedStream {
 public:
  /// `from` is borrowed, and read to its end.
  explicit PackedStream(int from);
  /// Fills `out`; gives less only at the end. Throws ErrorKind::usage for what is none, or is cut
  /// off.
  std::size_t read(std::span<char> out);

 private:
  struct Release {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, Release> context_;
  int from_;
  std::string piece_;     // Of what is packed,
  std::size_t size_ = 0;  // so much of it,
  std::size_t at_ = 0;    // and so much of that is unpacked.
  bool is_amid_ = false;  // There is more to come.
};

/// Not thread-safe.
class Unpacker {
 public:
  Unpacker();
  /// A run of exactly `size` bytes, valid until the next call. Throws ErrorKind::remote for what
  /// is none, and for an empty one or one longer than kLongestRun.
  std::string_view unpack(std::string_view packed, std::size_t size);

 private:
  struct Release {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  std::unique_ptr<ZSTD_DCtx_s, Release> context_;
  std::string run_;
};

}  // namespace fastgpu::transfer
