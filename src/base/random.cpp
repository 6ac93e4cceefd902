#include "base/random.hpp"

#include <sys/random.h>

#include <cassert>
#include <cerrno>
#include <vector>

#include "base/error.hpp"
#include "base/hex.hpp"

namespace fastgpu {

void fill_random(std::span<std::byte> bytes) {
  assert(bytes.size() <= 256);  // Requests of up to 256 bytes are filled whole or not at all.
  while (::getrandom(bytes.data(), bytes.size(), 0) < 0)
    if (errno != EINTR) throw system_error("reading random bytes", errno);
}

std::string random_hex(std::size_t bytes) {
  std::vector<std::byte> chance(bytes);
  fill_random(chance);
  return hex(chance);
}

}  // namespace fastgpu
