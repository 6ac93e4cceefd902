// Failures of this machine in a copy to or from many hosts: each counts once, for any number of
// hosts.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::remote {

/// Remembers the first failure of this side, which ends the streams of all hosts with it.
class LocalFailure {
 public:
  /// Runs `work` on files here; its exception is remembered and passed on to the stream.
  template <class Work>
  auto noting(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const Error& e) {
      if (!why_) why_ = e;
      throw;
    }
  }

  /// Throws the failure, as it is here and not on any host.
  void check() const {
    if (why_) throw Error(*why_);
  }

 private:
  std::optional<Error> why_;
};

}  // namespace fastgpu::remote
