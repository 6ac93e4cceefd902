// The work for a job that another fastgpu does here after its end: it copies the outputs, and
// writes a post-mortem if the job failed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns the work for a job that has ended which the fastgpu that runs it has yet to do: "its
/// outputs are being copied"; empty if it has done all, or has ended itself.
std::string end_work_to_come(Services& services, const state::Job& job);

/// Waits until the fastgpu that runs a job has copied its outputs and written its post-mortem, and
/// returns the job as it is on record then; returns others at once. If that fastgpu has ended
/// before, the outputs are recorded as incomplete. Throws timeout after `limit`.
state::Job with_end_work(Services& services, const state::Job& ended,
                         std::optional<std::chrono::milliseconds> limit);

/// Returns what was to be done for a job after its end and was not; empty for a record that cannot
/// be read.
std::vector<std::string> work_not_done(const state::Job& job);

}  // namespace fastgpu::cli
