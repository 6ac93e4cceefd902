#include "base/random.hpp"

#include <sys/random.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
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

double random_part() {
  std::uint64_t bits = 0;
  fill_random(std::as_writable_bytes(std::span(&bits, 1)));
  return static_cast<double>(bits >> 11) * 0x1p-53;  // A double has 53 bits.
}

}  // namespace fastgpu
