// Jobs in the state directory.
#pragma once

#include <optional>
#include <string>

#include "launcher/job.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/job_outcome.hpp"
#include "state/store.hpp"

namespace fastgpu::launcher {

/// Records a new job before any step for it; its id is set by the store.
state::Job insert_job(state::Store& store, const state::ClusterId& cluster,
                      const JobRecord& record);

/// Records what an engine with a queue of its own reports about a job that has not ended.
void note_glance(state::Store& store, state::Job& job, const JobGlance& glance);

/// Records that the job runs, and on which machines.
void mark_running(state::Store& store, state::Job& job);

/// Records that a run of the job has ended with `run`, that the job is started again, and why it
/// waits for that. A job that has ended stays unchanged.
void note_restart(state::Store& store, const std::string& id, const JobOutcome& run,
                  const std::string& reason);

/// Records why a job that has not ended waits.
void note_wait(state::Store& store, const std::string& id, const std::string& reason);

/// Records the end, only once: a job that has ended on record keeps its first outcome, which `job`
/// has afterwards. A job whose outcome lacks the time of its end has ended now.
void mark_ended(state::Store& store, state::Job& job, const JobOutcome& outcome);

/// Records whether the outputs of a job that has ended are here. `why` is the first one that is
/// not: a job that ended well has then the exit code 1, and this reason if it had none.
void note_outputs(state::Store& store, const std::string& id, state::Outputs outputs,
                  const std::string& why);

/// Records that the post-mortem of a job is no longer awaited. `why` is the reason if it was to be
/// written and was not; else empty.
void note_bundle(state::Store& store, const std::string& id, const std::string& why);

/// Records something that was to be done after the end of a job and was not: a sentence without its
/// full stop.
void note_not_done(state::Store& store, const std::string& id, const std::string& what);

bool has_ended(state::JobState state) noexcept;
bool has_ended(const state::Job& job) noexcept;

/// Returns the recorded outcome of a job that has ended.
JobOutcome stored_outcome(const state::Job& job);

}  // namespace fastgpu::launcher
