// Random bytes of the kernel.
#pragma once

#include <cstddef>
#include <string>

namespace fastgpu {

/// Returns `bytes` random bytes, at most 256, as lower-case hexadecimal digits: two for each byte.
/// They are good for keys. Throws ErrorKind::local if the kernel has none.
std::string random_hex(std::size_t bytes);

}  // namespace fastgpu
