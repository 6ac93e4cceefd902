// What a cloud's service on the machine answers, and the time in it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/guard/metadata_client.hpp"
#include "agent/guard/spot_notice.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto body = fastgpu::agent::body_of(text);
  if (body && body->size() + 17 > size) __builtin_trap();  // "HTTP/1.1 200 " and the head's end.
  if (fastgpu::agent::time_in(body.value_or(std::string(text))) < 0) __builtin_trap();
  return 0;
}
