// The outcome of an operation on one of many hosts.
#pragma once

#include "base/names.hpp"
#include "base/outcome.hpp"

namespace fastgpu {

/// The outcome on one host. A fan-out returns one per host, and does not throw if a host fails.
template <class T>
struct HostResult {
  NodeName host;
  Outcome<T> outcome;

  bool ok() const noexcept { return outcome.ok(); }
  const T& value() const { return outcome.value(); }
  const Error& error() const { return outcome.error(); }
};

}  // namespace fastgpu
