// The errors of calls that multistep training cannot do.
#pragma once

#include <string>

#include "base/error.hpp"

namespace fastgpu::comm {

/// Returns an error of ErrorKind::usage that says why.
inline Error multistep_refusal(const std::string& why) {
  return {ErrorKind::usage, "multistep: " + why};
}

}  // namespace fastgpu::comm
