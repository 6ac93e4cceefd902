// The note about the rank that has broken a job, for the launcher of the job.
#pragma once

#include <functional>

#include "comm/common/process_environment.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// Returns a function that writes which rank has broken the job to the file that
/// FASTGPU_BLAME_FILE names: this rank, the number of ranks and that rank, as "2 4 1" with a line
/// end. A call takes the place of those before; one with `self` leaves no note. None throws. The
/// function is null without the variable. Removes a note about an earlier job of this process,
/// because the process has survived it.
std::function<void(Rank)> blame_note(const Environment& environment, Rank self, int size);

}  // namespace fastgpu::comm
