#include "provision/ids.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu::provision {
namespace {

/// Returns random digits. Small reads of getrandom are never cut short.
template <std::size_t bytes>
std::string random_digits() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<unsigned char, bytes> chance{};
  while (::getrandom(chance.data(), chance.size(), 0) < 0)
    if (errno != EINTR) throw system_error("reading random bytes", errno);
  std::string digits;
  for (const unsigned char byte : chance)
    digits += {kHex[byte >> 4], kHex[byte & 15]};
  return digits;
}

}  // namespace

state::ClusterId new_cluster_id() {
  return {random_digits<4>()};
}
std::string new_token() {
  return random_digits<16>();
}

}  // namespace fastgpu::provision
