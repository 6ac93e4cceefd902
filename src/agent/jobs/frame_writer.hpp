// Writes frames to standard output. The reader may be slow or gone.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "agent/protocol/frame.hpp"

namespace fastgpu::agent {

/// Waits for the reader without a limit. Meanwhile calls `idle` at least every half second.
class FrameWriter {
 public:
  explicit FrameWriter(std::function<void()> idle);

  /// Sends a frame. Throws local once the reader has gone.
  void send(FrameHeader header, std::string_view bytes);

 private:
  void write(std::string_view bytes);

  std::function<void()> idle_;
};

}  // namespace fastgpu::agent
