#include "launcher/job_store.hpp"

namespace fastgpu::launcher {

using state::JobState;

namespace {

/// Adds what ended the job to the record. Leaves a record alone that cannot be read.
void note_end(state::Job& job, const JobOutcome& outcome) try {
  const bool is_cancelled = outcome.state == JobState::cancelled;
  if (!outcome.failure && !is_cancelled && outcome.cause == job.record->cause) return;
  JobRecord record = *job.record;
  record.failure = outcome.failure;
  record.cause = is_cancelled ? JobEndCause::cancelled : outcome.cause;
  job.record = std::move(record);
} catch (const Error&) {
  return;
}

}  // namespace

state::Job insert_job(state::Store& store, const state::ClusterId& cluster,
                      const JobRecord& record) {
  state::Job job{.id = {}, .cluster = cluster, .record = record, .reason = {}};
  job.created = std::chrono::system_clock::now();
  store.insert_job(job, record.spec.name);
  return job;
}

void mark_running(state::Store& store, state::Job& job) {
  if (has_ended(job)) return;
  job.state = JobState::running;
  store.update_job(job);
}

void mark_ended(state::Store& store, state::Job& job, const JobOutcome& outcome) {
  if (has_ended(job)) return;
  job.state = outcome.state;
  job.exit_code = outcome.exit_code;
  job.reason = outcome.reason;
  job.ended = std::chrono::system_clock::now();
  note_end(job, outcome);
  store.update_job(job);
}

bool has_ended(const state::Job& job) noexcept {
  switch (job.state) {
    case JobState::queued:
    case JobState::starting:
    case JobState::running:
      return false;
    case JobState::succeeded:
    case JobState::failed:
    case JobState::cancelled:
    case JobState::lost:
      return true;
  }
  return true;
}

JobOutcome stored_outcome(const state::Job& job) {
  return {.state = job.state, .exit_code = job.exit_code.value_or(1), .reason = job.reason};
}

}  // namespace fastgpu::launcher
