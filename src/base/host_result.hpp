// Many hosts, many outcomes.
#pragma once

#include <variant>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu {

/// What one operation came to on one host. A fan-out returns one per host and throws for none.
template <class T>
struct HostResult {
  NodeName host;
  std::variant<T, Error> result;

  bool ok() const noexcept { return std::holds_alternative<T>(result); }
  const T& value() const { return std::get<T>(result); }
  const Error& error() const { return std::get<Error>(result); }
};

}  // namespace fastgpu
