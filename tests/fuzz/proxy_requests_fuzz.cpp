// What a client of the proxy for nodes sends first.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "http/forwarder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fastgpu;
  try {
    const auto request = http::parse_forward_request({reinterpret_cast<const char*>(data), size});
    if (request.host.empty() || request.port == 0) std::abort();
    if (request.connects == !request.head.empty()) std::abort();
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
