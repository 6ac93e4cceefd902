// Machines that a cloud has accepted and does not list yet.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "provision/cloud/model.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::cloud {

/// Calls `list` with growing pauses until it returns `count` machines, and returns them. Throws
/// ErrorKind::transient after 20 s. `doing` names the cloud and the launch for the error.
inline std::vector<Machine> await_listing(std::size_t count, const std::string& doing,
                                          const std::function<std::vector<Machine>()>& list,
                                          const Wait& wait, const Cancel& cancel) {
  using std::chrono::milliseconds;
  constexpr milliseconds kFirstPause{500};
  constexpr milliseconds kTimeout{20'000};
  milliseconds waited{0};
  for (milliseconds next = kFirstPause;; next *= 2) {
    std::vector<Machine> listed = list();
    if (listed.size() >= count) return listed;
    if (waited > kTimeout)
      throw Error(ErrorKind::transient, doing + ": accepted, but not listed yet: " +
                                            counted(count - listed.size(), "machine"));
    wait(next, cancel);
    cancel.check();
    waited += next;
  }
}

}  // namespace fastgpu::provision::cloud
