#include "base/pipe.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu {

Pipe make_pipe(int flags) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), flags) != 0) throw system_error("making a pipe", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace fastgpu
