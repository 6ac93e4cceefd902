// How many of the jobs that hold what another one needs must end before it can begin. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "state/job_record.hpp"

namespace fastgpu::launcher {

using state::EndsNeeded;

/// Returns how many of the `holders` must end. `fits_without` returns whether the job can begin
/// once these jobs have ended; it can if all of them have.
EndsNeeded ends_needed(const std::vector<std::string>& holders,
                       const std::function<bool(std::span<const std::string> ended)>& fits_without);

/// Returns "a-1, b-1", "one of a-1, b-1" or "some of a-1, b-1".
std::string words_for(const std::vector<std::string>& holders, EndsNeeded ends);

}  // namespace fastgpu::launcher
