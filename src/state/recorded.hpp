// A part of a record that is stored as JSON: its value, or the reason why it cannot be read.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/outcome.hpp"

namespace fastgpu::state {

/// A value of a record. It is read once, at the latest when it is first used. If that fails, every
/// use of the value throws the reason, so that a record with a damaged part can still be listed and
/// deleted. Copies share the value; several threads may use it.
template <class T>
class Recorded {
 public:
  Recorded() = default;  ///< A new default value.
  /// A new value, which the store has yet to write.
  template <std::convertible_to<T> Value>
  Recorded(Value value)  // NOLINT(google-explicit-constructor)
      : part_(known(Outcome<T>(T(std::move(value))))) {}

  static Recorded as_read(T value) { return Recorded(known(Outcome<T>(std::move(value)))); }
  static Recorded unreadable(const Error& reason) { return Recorded(known(Outcome<T>(reason))); }
  /// Returns a value that `read` returns when it is first used. An Error of `read` is the reason
  /// why it cannot be read.
  static Recorded to_read(std::function<T()> read) {
    auto part = std::make_shared<Part>();
    part->read = std::move(read);
    return Recorded(std::move(part));
  }

  /// Returns the value. Throws the reason if it cannot be read.
  const T& operator*() const {
    static const T initial{};
    if (!part_) return initial;
    std::call_once(part_->is_read, [this] {
      if (part_->outcome) return;
      part_->outcome = std::make_unique<Outcome<T>>(attempt(part_->read));
      part_->read = {};
    });
    return part_->outcome->value();
  }
  const T* operator->() const { return &**this; }

  /// Returns false if the record that was read has this value, so that its text can stay.
  bool is_new() const noexcept { return is_new_; }

 private:
  /// It is small until it is read: thousands of jobs are listed without their records.
  struct Part {
    std::once_flag is_read;
    std::function<T()> read;
    std::unique_ptr<Outcome<T>> outcome;
  };

  static std::shared_ptr<Part> known(Outcome<T> outcome) {
    auto part = std::make_shared<Part>();
    part->outcome = std::make_unique<Outcome<T>>(std::move(outcome));
    return part;
  }
  explicit Recorded(std::shared_ptr<Part> part) : part_(std::move(part)), is_new_(false) {}

  std::shared_ptr<Part> part_;  // None for a default value.
  bool is_new_ = true;
};

}  // namespace fastgpu::state
