// Making one thing of a cloud whose calls have no idempotency tokens.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/cancel.hpp"
#include "base/error.hpp"

namespace fastgpu::provision::cloud {

struct FoundOrMade {
  std::string id;
  bool is_new = false;  ///< Nothing can be in it yet.
};

/// What `look` finds the identity of; where it finds none (an empty text), what `make` answers.
/// Where an answer is lost it is looked again before it is made again, `wait` in between. What is
/// known not to be there is not looked for at first.
template <class Look, class Make>
FoundOrMade find_or_make(const Look& look, const Make& make,
                         const std::function<void(std::chrono::milliseconds, const Cancel&)>& wait,
                         const Cancel& cancel, bool may_be_there = true) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    if (may_be_there || attempt > 1)
      if (std::string id = look(); !id.empty()) return {std::move(id)};
    try {
      return {make(), true};
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::transient || attempt == kAttempts) throw;
    }
    wait(std::chrono::seconds(attempt), cancel);
    cancel.check();
  }
}

}  // namespace fastgpu::provision::cloud
