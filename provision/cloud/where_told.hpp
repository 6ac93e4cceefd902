// Questions whose answers are not essential.
#pragma once

#include "base/error.hpp"

namespace fastgpu::provision::cloud {

/// Asks for data that an account may have no permission to read, such as quotas. Without an answer
/// the data stay unknown. Throws only a cancel.
template <class Ask>
void where_told(const Ask& ask) {
  try {
    ask();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
  }
}

}  // namespace fastgpu::provision::cloud
