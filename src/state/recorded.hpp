// A part of a record that is stored as JSON: its value, or the reason why it cannot be read.
#pragma once

#include <concepts>
#include <utility>

#include "base/outcome.hpp"

namespace fastgpu::state {

/// A value of a record. The store reads it once. If that fails, every use of the value throws the
/// reason, so that a record with a damaged part can still be listed and deleted.
template <class T>
class Recorded {
 public:
  Recorded() = default;
  /// A new value, which the store has yet to write.
  template <std::convertible_to<T> Value>
  Recorded(Value value) : outcome_(T(std::move(value))) {}  // NOLINT(google-explicit-constructor)

  static Recorded as_read(T value) {
    Recorded recorded(std::move(value));
    recorded.is_new_ = false;
    return recorded;
  }
  static Recorded unreadable(const Error& reason) {
    Recorded recorded;
    recorded.outcome_ = reason;
    recorded.is_new_ = false;
    return recorded;
  }

  /// Returns the value. Throws the reason if it cannot be read.
  const T& operator*() const { return outcome_.value(); }
  const T* operator->() const { return &**this; }

  /// Returns false if the record that was read has this value, so that its text can stay.
  bool is_new() const noexcept { return is_new_; }

 private:
  Outcome<T> outcome_{};
  bool is_new_ = true;
};

}  // namespace fastgpu::state
