// URLs, queries and dates of headers as anybody may write them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "http/backoff.hpp"
#include "http/urls.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu::http;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    parse_url(text);
  } catch (const fastgpu::Error&) {
  }
  const Parameters parameters = parse_query(text);
  if (parse_query(encode_query(parameters)) != parameters) std::abort();
  if (percent_decode(percent_encode(text)) != text) std::abort();
  parse_retry_after(text, {});
  return 0;
}
