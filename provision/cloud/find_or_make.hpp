// Making one thing of a cloud whose calls have no idempotency tokens.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/cancel.hpp"
#include "base/error.hpp"

namespace fastgpu::provision::cloud {

/// The identity that `look` finds; where it finds none (an empty text), the one that `make`
/// answers. Where an answer is lost it is looked again before it is made again, `wait` in between.
template <class Look, class Make>
std::string find_or_make(const Look& look, const Make& make,
                         const std::function<void(std::chrono::milliseconds, const Cancel&)>& wait,
                         const Cancel& cancel) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    if (std::string id = look(); !id.empty()) return id;
    try {
      return make();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::transient || attempt == kAttempts) throw;
    }
    wait(std::chrono::seconds(attempt), cancel);
    cancel.check();
  }
}

}  // namespace fastgpu::provision::cloud
