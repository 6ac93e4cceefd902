// What a node sends as frames of a followed job.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "launcher/frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t half = size / 2;
  std::size_t bytes = 0;
  fastgpu::launcher::FrameDecoder decoder(
      [&](const fastgpu::agent::FrameHeader&, std::string_view payload) {
        bytes += payload.size();
      });
  try {
    decoder.feed(text.substr(0, half));
    decoder.feed(text.substr(half));
  } catch (const fastgpu::Error&) {
  }
  return bytes > size ? __builtin_trap(), 0 : 0;
}
