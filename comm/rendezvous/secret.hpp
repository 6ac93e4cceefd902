// The secret of a job, from its variable or from the file that another variable names.
#pragma once

#include "base/secret.hpp"
#include "comm/common/process_environment.hpp"

namespace fastgpu::comm {

/// Returns FASTGPU_COMM_SECRET; if that is absent, the content of the file that
/// FASTGPU_COMM_SECRET_FILE names, without line ends at its end; empty if both are absent. Throws
/// ErrorKind::usage, naming the variable, for a file that cannot be read or holds no secret.
Secret read_secret(const Environment& environment);

}  // namespace fastgpu::comm
