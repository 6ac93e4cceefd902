// The outcome of an operation on one of many hosts.
#pragma once

#include <variant>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu {

/// The outcome on one host. A fan-out returns one per host, and does not throw if a host fails.
template <class T>
struct HostResult {
  NodeName host;
  std::variant<T, Error> result;

  bool ok() const noexcept { return std::holds_alternative<T>(result); }
  const T& value() const { return std::get<T>(result); }
  const Error& error() const { return std::get<Error>(result); }
};

}  // namespace fastgpu
