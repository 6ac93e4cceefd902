// Jobs in the state directory.
#pragma once

#include <string>

#include "launcher/job.hpp"
#include "launcher/outcome.hpp"
#include "state/store.hpp"

namespace fastgpu::launcher {

/// Writes a new job down before anything is done for it; its id is set by the store.
state::Job insert_job(state::Store& store, const state::ClusterId& cluster,
                      const JobRecord& record);

void mark_running(state::Store& store, state::Job& job);

/// Once only: a job that has ended keeps its first outcome.
void mark_ended(state::Store& store, state::Job& job, const Outcome& outcome);

bool has_ended(const state::Job& job) noexcept;

/// What was remembered of a job that has ended.
Outcome stored_outcome(const state::Job& job);

}  // namespace fastgpu::launcher
