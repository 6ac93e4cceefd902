// A call about environments: its request is read from standard input, and its answer is written as
// records.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>

#include "agent/protocol/records.hpp"
#include "base/cancel.hpp"
#include "base/periodic_thread.hpp"

namespace fastgpu::agent {

/// Reads all of standard input. Throws remote for malformed records.
Records read_request();

/// Writes `answer` to stdout. The exit status is 0.
void write_answer(const Records& answer);

/// Runs `body`. Writes its error to stderr and returns the error's kind as an exit status.
int run_call(const std::function<void()>& body);

/// Reports the progress of a long call to the client. Notices the client's disconnect by a sign of
/// life that can no longer be written.
class Listener {
 public:
  Listener();

  void tell(std::string_view doing);
  const Cancel& gone() const noexcept { return gone_; }

 private:
  void write(std::string_view key, std::string_view value);

  std::mutex writing_;
  Cancel gone_;
  PeriodicThread beat_;  ///< The last member: the thread uses all others.
};

}  // namespace fastgpu::agent
