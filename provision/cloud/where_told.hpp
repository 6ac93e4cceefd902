// Questions whose answers are not essential.
#pragma once

#include "base/error.hpp"

namespace fastgpu::provision::cloud {

/// Asks for data that an account may have no right to read, such as quotas: without an answer it
/// stays unknown. Only a cancel is thrown.
template <class Ask>
void where_told(const Ask& ask) {
  try {
    ask();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
  }
}

}  // namespace fastgpu::provision::cloud
