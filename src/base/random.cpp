#include "base/random.hpp"

#include <sys/random.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu {

std::string random_hex(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 256> chance{};
  assert(bytes <= chance.size());  // Requests of up to 256 bytes are filled whole or not at all.
  while (::getrandom(chance.data(), bytes, 0) < 0)
    if (errno != EINTR) throw system_error("reading random bytes", errno);
  std::string digits;
  for (std::size_t i = 0; i < bytes; ++i)
    digits += {kDigits[chance[i] >> 4], kDigits[chance[i] & 15]};
  return digits;
}

}  // namespace fastgpu
