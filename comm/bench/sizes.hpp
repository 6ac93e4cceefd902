// The measured lengths, in the users' notation.
#pragma once

#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu::comm::bench {

/// Parses lengths: "8:128M:4" is 8 bytes, 32, 128 ... up to 128 MiB; "8,64K,1MB" is these three. K,
/// M and G are powers of 2, as in nccl-tests; otherwise as parse_size. Throws ErrorKind::usage,
/// naming the value met.
std::vector<Bytes> parse_sizes(std::string_view text);

}  // namespace fastgpu::comm::bench
