// What `job-follow` sends, put together again from whatever pieces the network makes of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/protocol/frame.hpp"

namespace fastgpu::launcher {

/// Takes bytes as they come; calls `sink` once per whole frame. Holds at most one frame in memory.
class FrameDecoder {
 public:
  using Sink = std::function<void(const agent::FrameHeader&, std::string_view)>;

  explicit FrameDecoder(Sink sink) : sink_(std::move(sink)) {}

  /// Throws remote, showing what was met, for bytes that are no frame (a login script that prints,
  /// a wrong program) and for anything after the last frame.
  void feed(std::string_view bytes);

  bool ended() const noexcept { return ended_; }  ///< The last frame has been seen.

 private:
  std::size_t take(std::string_view bytes);

  Sink sink_;
  std::string pending_;  ///< The beginning of a frame.
  bool ended_ = false;
};

}  // namespace fastgpu::launcher
