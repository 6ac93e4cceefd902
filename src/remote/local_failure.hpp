// Failures of this machine in a copy to or from many hosts. They are reported once, and not for
// every host.
#pragma once

#include <string>
#include <utility>

#include "base/outcome.hpp"

namespace fastgpu::remote {

/// Remembers the first local failure. It ends the streams of all hosts.
class LocalFailure {
 public:
  /// Runs `work` on local files. Remembers its exception, and throws it again to the stream.
  template <class Work>
  auto noting(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const Error& e) {
      if (first_.ok()) first_ = e;
      throw;
    }
  }

  /// Throws the local failure if there was one.
  void check() const { first_.value(); }

 private:
  Outcome<void> first_;
};

}  // namespace fastgpu::remote
