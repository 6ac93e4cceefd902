// The outcome of an operation that is kept for later: a value, or the error instead of it.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.hpp"

namespace fastgpu {

/// A value or the Error that was thrown instead of it. Outcome<void> holds the success alone.
template <class T>
class Outcome {
 public:
  using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  Outcome() = default;                                ///< A success with a default value.
  Outcome(Value value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Outcome(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const noexcept { return state_.index() == 0; }

  /// Returns the value. Throws the error if there is one.
  const Value& value() const& {
    if (!ok()) throw Error(error());
    return std::get<0>(state_);
  }
  Value value() && {
    if (!ok()) throw Error(error());
    return std::get<0>(std::move(state_));
  }

  /// Returns the error. There must be one.
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<Value, Error> state_{};
};

/// Returns the result of `work`, or the Error that it throws. Other exceptions pass.
template <class Work>
auto attempt(Work&& work) -> Outcome<std::invoke_result_t<Work>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      std::forward<Work>(work)();
      return {};
    } else {
      return std::forward<Work>(work)();
    }
  } catch (const Error& e) {
    return e;
  }
}

}  // namespace fastgpu
