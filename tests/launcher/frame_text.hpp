// Frames as an agent sends them.
#pragma once

#include <string>

#include "agent/protocol/frame.hpp"

namespace fastgpu::test {

inline std::string frame(agent::FrameHeader header, const std::string& bytes) {
  header.length = static_cast<std::uint32_t>(bytes.size());
  const auto start = agent::encode(header);
  return std::string(start.data(), start.size()) + bytes;
}

}  // namespace fastgpu::test
