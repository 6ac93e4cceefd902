// The bytes of an abort notice: why a rank gives up the job, or another rank.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::comm {

/// Returns the notice that tells of `error`: one byte for its kind, then its text.
std::vector<std::byte> abort_reason(const Error& error);

/// Returns the error that a notice tells of, with `teller` as its source. `reason` comes from
/// another process and is not empty: an unknown kind becomes ErrorKind::remote, and control
/// characters become '?'.
Error error_of_abort(std::span<const std::byte> reason, const std::string& teller);

}  // namespace fastgpu::comm
