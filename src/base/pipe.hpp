// A pipe whose ends are closed with it.
#pragma once

#include <fcntl.h>

#include "base/unique_fd.hpp"

namespace fastgpu {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

/// Makes a pipe with those flags of pipe2(2). Throws ErrorKind::local if it cannot be made.
Pipe make_pipe(int flags = O_CLOEXEC);

}  // namespace fastgpu
