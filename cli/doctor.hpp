// What fastgpu needs of this machine, looked at one by one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "cli/context.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

enum class Verdict : std::uint8_t { ok, warn, fail };

struct Check {
  std::string name;
  Verdict verdict = Verdict::ok;
  std::string found;   ///< What was met.
  std::string remedy;  ///< What to do about it; empty where nothing is to be done.
};

std::string_view to_string(Verdict verdict) noexcept;

/// Tries what it calls ok: writes a file into the state directory, which is gone again at once, and
/// runs each program. A failed check stands in the way of clusters on this machine. Throws
/// ErrorKind::interrupted alone.
std::vector<Check> examine(const std::filesystem::path& state_directory,
                           const state::Environment& environment, const Cancel& cancel);

}  // namespace fastgpu::cli
