// The frames of `job-follow`, put together again from the network's pieces.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/protocol/frame.hpp"

namespace fastgpu::launcher {

/// A decoder that takes bytes as they come, and calls `sink` once per whole frame. Holds at most
/// one frame in memory.
class FrameDecoder {
 public:
  using Sink = std::function<void(const agent::FrameHeader&, std::string_view)>;

  explicit FrameDecoder(Sink sink) : sink_(std::move(sink)) {}

  /// Takes bytes. Throws remote, showing the input, unless they are frames (a login script that
  /// prints, a wrong program), and for anything after the last frame.
  void feed(std::string_view bytes);

  /// Returns true once the last frame has been seen.
  bool ended() const noexcept { return ended_; }

 private:
  std::size_t take(std::string_view bytes);

  Sink sink_;
  std::string pending_;  ///< The beginning of a frame.
  bool ended_ = false;
};

}  // namespace fastgpu::launcher
