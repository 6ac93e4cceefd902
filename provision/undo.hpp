// The end of a change that has failed and is undone: create, scale, replace and start.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace fastgpu::provision {

/// Calls `undo`, which takes back what a failed change has made and returns what it did ("; the
/// nodes are stopped again", or nothing). Throws the failure with that. If the undoing fails too,
/// the failure names the remains and `way_out`, the command that ends them: no machine is left
/// unsaid.
template <class Undo>
[[noreturn]] void throw_undone(const Error& failure, std::string_view way_out, Undo undo) {
  std::string message = failure.what();
  try {
    message += undo();
  } catch (const Error& left) {
    message += "; something is left (" + std::string(left.what()) + "): " + std::string(way_out);
  }
  throw Error(failure.kind(), message);
}

}  // namespace fastgpu::provision
