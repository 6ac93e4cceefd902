// The calls of a fuzzer that may refuse their input.
#pragma once

#include "base/error.hpp"

namespace fastgpu::fuzz {

/// Runs `work`, which may refuse the input with an Error of the kinds that are named; without any,
/// of every kind but ErrorKind::internal. Traps on any other Error.
template <ErrorKind... refusals, class Work>
void attempt(Work work) {
  try {
    work();
  } catch (const Error& e) {
    const bool is_refusal = sizeof...(refusals) == 0 ? e.kind() != ErrorKind::internal
                                                     : ((e.kind() == refusals) || ...);
    if (!is_refusal) __builtin_trap();
  }
}

}  // namespace fastgpu::fuzz
