// The start of the library's threads, which a limit of the system may refuse.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {

/// Starts a thread that calls `work` with its std::stop_token. Throws ErrorKind::local, with the
/// limits to look at, if the system has no room for it.
template <class Work>
std::jthread start_thread(Work&& work) try {
  return std::jthread(std::forward<Work>(work));
} catch (const std::system_error& e) {
  throw Error(
      ErrorKind::local,
      "cannot start a thread (see ulimit -u, the container's limit of processes, and ulimit "
      "-v): " +
          e.code().message());
}

}  // namespace fastgpu::comm
