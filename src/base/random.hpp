// Random bytes of the kernel, and random numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fastgpu {

/// Fills at most 256 bytes at random. They are good for keys. Throws ErrorKind::local if the kernel
/// has none.
void fill_random(std::span<std::byte> bytes);

/// Returns that many random bytes, at most 256, as lower-case hexadecimal digits: two for each
/// byte. Throws as fill_random() does.
std::string random_hex(std::size_t bytes);

/// Returns a random number that is at least 0 and less than 1. Throws as fill_random() does.
double random_part();

}  // namespace fastgpu
