// The outputs of a job that another fastgpu copies here after its end.
#pragma once

#include <chrono>
#include <optional>

#include "cli/workflows/services.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns true if a job has ended, and the fastgpu that runs it has yet to copy its outputs.
bool has_outputs_to_come(Services& services, const state::Job& job);

/// Waits until the fastgpu that runs a job has copied its outputs, and returns the job as it is on
/// record then; returns others at once. If that fastgpu has ended before, the outputs are recorded
/// as incomplete. Throws timeout after `limit`.
state::Job with_outputs(Services& services, const state::Job& ended,
                        std::optional<std::chrono::milliseconds> limit);

}  // namespace fastgpu::cli
