// Failures of this machine in a copy to or from many hosts. They are reported once, and not for
// every host.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"

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
      if (!why_) why_ = e;
      throw;
    }
  }

  /// Throws the local failure if there was one.
  void check() const {
    if (why_) throw Error(*why_);
  }

 private:
  std::optional<Error> why_;
};

}  // namespace fastgpu::remote
