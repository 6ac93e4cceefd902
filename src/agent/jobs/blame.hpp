// A rank's word on the rank that has broken its job.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "agent/jobs/rank_environment.hpp"

namespace fastgpu::agent {

/// The variable with the file that libfastgpu_comm writes if a call fails because of another rank.
inline constexpr std::string_view kBlameFile = "FASTGPU_BLAME_FILE";

/// Returns the rank that such a file blames: the last of its three numbers. Absent for any other
/// text, and if the first two are not the rank at `place` and the size of its job: the file is then
/// about another job that the program has joined. Pure.
std::optional<int> blamed_rank(std::string_view text, const PlaceInJob& place);

/// Reads such a file. Absent without one, and if it cannot be read.
std::optional<int> read_blame(const std::filesystem::path& file, const PlaceInJob& place) noexcept;

}  // namespace fastgpu::agent
