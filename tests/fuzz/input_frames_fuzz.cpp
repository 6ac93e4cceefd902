// What comes to the agent as variables and standard input of a program.
#include <cstddef>
#include <cstdint>

#include "base/error.hpp"
#include "transfer/input_frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu::transfer;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t bytes = 0;
  InputDecoder decoder([&](const InputFrame& frame, std::string_view content) {
    bytes += content.size();
    if (frame.kind == InputKind::variables) decode_variables(content);
  });
  try {
    decoder.feed(text.substr(0, size / 2));
    decoder.feed(text.substr(size / 2));
  } catch (const fastgpu::Error&) {
  }
  return bytes > size ? __builtin_trap(), 0 : 0;
}
