// Creation of one object of a cloud whose calls have no idempotency tokens.
#pragma once

#include <chrono>
#include <string>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::cloud {

struct FoundOrMade {
  std::string id;
  bool is_new = false;  ///< True if it must be empty still.
};

/// Returns the identity that `look` finds; if it finds none (an empty text), the answer of `make`.
/// After a lost answer it looks again before it makes again, and calls `wait` in between. The first
/// look is left out for an object that cannot exist yet.
template <class Look, class Make>
FoundOrMade find_or_make(const Look& look, const Make& make, const Wait& wait, const Cancel& cancel,
                         bool may_be_there = true) {
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
