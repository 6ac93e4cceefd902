// Checks whether this machine fulfils fastgpu's requirements.
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
  std::string found;   ///< The finding, for the user.
  std::string remedy;  ///< The remedy; empty if none is needed.
};

std::string_view word_of(Verdict verdict) noexcept;

/// Checks each requirement by trying it: writes a file into the state directory and removes it, and
/// runs each program. A check with Verdict::fail prevents clusters on this machine. Throws only
/// ErrorKind::interrupted.
std::vector<Check> examine(const std::filesystem::path& state_directory,
                           const state::Environment& environment, const Cancel& cancel);

}  // namespace fastgpu::cli
