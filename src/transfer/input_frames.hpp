// The frames in which standard input, and the environment of the program that reads it, are sent to
// a node. The connection stays open after the last frame. When it is closed, the node ends the
// program.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

enum class InputKind : std::uint8_t {
  variables = 1,  ///< "K=V" followed by NUL, any number of times. Sent first.
  data,           ///< Bytes for the program.
  end,            ///< The end of the input. No frame follows.
};

struct InputFrame {
  InputKind kind = InputKind::end;
  std::uint64_t offset = 0;  ///< The position of the first byte in the input.
};

inline constexpr std::size_t kLargestInputFrame = 1UL << 18U;

/// Returns a complete frame. `bytes` has at most kLargestInputFrame bytes.
std::string to_text(const InputFrame& frame, std::string_view bytes);

/// Returns the content of a frame of variables. Throws usage, naming the sizes, if they do not fit
/// into a frame, or if one of them is too long to start any program.
std::string encode_variables(std::span<const std::string> assignments);
/// Returns the variables. Throws remote if the text is incomplete or a variable has no '='.
std::vector<std::string> decode_variables(std::string_view text);

/// Assembles frames from pieces of any size. Keeps at most one frame in memory.
class InputDecoder {
 public:
  using Sink = std::function<void(const InputFrame&, std::string_view)>;

  explicit InputDecoder(Sink sink) : sink_(std::move(sink)) {}

  /// Throws remote for bytes that are not a frame, and for bytes after the last frame.
  void feed(std::string_view bytes);

 private:
  bool take_whole();

  Sink sink_;
  std::string pending_;
  bool ended_ = false;
};

}  // namespace fastgpu::transfer
