// The requirements of fastgpu on this machine, checked one by one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "cli/workflows/services.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

enum class Verdict : std::uint8_t { ok, warn, fail };

struct Check {
  std::string name;
  Verdict verdict = Verdict::ok;
  std::string found;   ///< The finding.
  std::string remedy;  ///< The remedy; empty if none is needed.
};

std::string_view to_string(Verdict verdict) noexcept;

/// Checks everything by trying it: writes a file into the state directory, which is gone again at
/// once, and runs each program. A failed check prevents clusters on this machine. Throws only
/// ErrorKind::interrupted.
std::vector<Check> examine(const std::filesystem::path& state_directory,
                           const state::Environment& environment, const Cancel& cancel);

}  // namespace fastgpu::cli
