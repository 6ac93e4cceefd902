#include "launcher/job_store.hpp"

#include <algorithm>
#include <utility>

namespace fastgpu::launcher {

using state::JobState;

namespace {

/// Returns what ended a job. Every bad end has a cause.
JobEndCause cause_of(const JobOutcome& outcome) {
  if (outcome.cause != JobEndCause::none && outcome.state != JobState::cancelled)
    return outcome.cause;
  switch (outcome.state) {
    case JobState::cancelled:
      return JobEndCause::cancelled;
    case JobState::lost:
      return JobEndCause::contact;
    case JobState::failed:
      return JobEndCause::launcher;
    case JobState::queued:
    case JobState::starting:
    case JobState::running:
    case JobState::succeeded:
      break;
  }
  return outcome.cause;
}

/// Adds what is known of the end, and the nodes that the engine has chosen, to the record.
/// Leaves a record alone that cannot be read.
void note_end_in_record(state::Job& job, const JobOutcome& outcome, JobState before) try {
  const JobEndCause cause = cause_of(outcome);
  const bool has_more = outcome.failure || !outcome.nodes.empty() || !outcome.lost.empty() ||
                        !outcome.full_disks.empty();
  const bool never_began =
      job.record->never_began || (before == JobState::queued && job.record->restarts == 0);
  const bool is_same = cause == job.record->cause && !has_more && !never_began;
  if (is_same && !job.record->is_preparing) return;
  JobRecord record = *job.record;
  record.never_began = never_began;
  record.is_preparing = false;
  if (never_began) {  // It has nothing to copy.
    record.bundle_awaited = false;
    if (record.outputs == state::Outputs::awaited) record.outputs = state::Outputs::none;
  }
  record.failure = outcome.failure;
  record.lost_nodes = outcome.lost;
  record.full_disks = outcome.full_disks;
  record.cause = cause;
  if (!outcome.nodes.empty()) record.engine_job.nodes = outcome.nodes;
  job.record = std::move(record);
} catch (const Error&) {
  return;
}

/// Changes the record of a job that has ended by `change`. A job that is gone stays so.
template <class Change>
void change_record(state::Store& store, const std::string& id, const Change& change) {
  store.atomically([&] {
    auto job = store.find_job(id);
    if (!job) return;
    JobRecord record = *job->record;
    change(record);
    job->record = std::move(record);
    store.update_job(*job);
  });
}

/// Notes the time when the ranks of the job began, in its record. The first one counts.
void note_start(state::Job& job, state::TimePoint began) {
  const state::TimePoint valid = std::max(began, job.created);
  if (job.record->started && *job.record->started <= valid) return;
  JobRecord record = *job.record;
  record.started = valid;
  job.record = std::move(record);
}

/// Notes the time when the ranks of an ended job began, where its engine knows that. A job that was
/// cancelled in the queue of its engine has not run. Leaves a record alone that cannot be read.
void note_beginning(state::Job& job, const JobOutcome& outcome) try {
  if (outcome.began) return note_start(job, std::min(*outcome.began, *job.ended));
  const bool has_queue = job.record->spec.engine != EngineKind::mpirun;
  if (has_queue && outcome.state == JobState::cancelled && !job.record->started)
    note_start(job, *job.ended);
} catch (const Error&) {
  return;
}

/// Records the present machine of each node of the job: a node may get another one.
void note_machines(const state::Store& store, state::Job& job) {
  JobRecord record = *job.record;
  const auto nodes = store.nodes(job.cluster);
  for (state::NodeRanks& ranks : record.placement)
    if (const auto node = std::ranges::find(nodes, ranks.node, &state::Node::name);
        node != nodes.end())
      ranks.instance_id = node->instance_id;
  job.record = std::move(record);
}

}  // namespace

state::Job insert_job(state::Store& store, const state::ClusterId& cluster,
                      const JobRecord& record) {
  state::Job job{.id = {}, .cluster = cluster, .record = record, .reason = {}};
  job.created = std::chrono::system_clock::now();
  store.insert_job(job, record.spec.name);
  return job;
}

void note_glance(state::Store& store, state::Job& job, const JobGlance& glance) {
  if (has_ended(job) || glance.outcome) return;
  const JobState now = glance.waits ? JobState::starting : JobState::running;
  state::EngineJob known = job.record->engine_job;
  const bool has_new_id = known.id.empty() && !glance.engine_id.empty();
  const bool is_new = has_new_id || known.nodes != glance.nodes;
  const bool begins = now == JobState::running && !job.record->started;
  if (job.state == now && job.reason == glance.reason && !is_new && !begins) return;
  job.state = now;
  job.reason = glance.reason;
  if (is_new) {
    if (has_new_id) known.id = glance.engine_id;
    known.nodes = glance.nodes;
    JobRecord record = *job.record;
    record.engine_job = std::move(known);
    job.record = std::move(record);
  }
  if (begins) note_start(job, glance.began.value_or(std::chrono::system_clock::now()));
  store.update_job(job);
}

void mark_running(state::Store& store, state::Job& job) {
  if (has_ended(job)) return;
  note_machines(store, job);
  // A scheduler may keep the job in its queue.
  if (job.record->spec.engine == EngineKind::mpirun)
    note_start(job, std::chrono::system_clock::now());
  job.state = JobState::running;
  store.update_job(job);
}

void note_restart(state::Store& store, const std::string& id, const JobOutcome& run,
                  const std::string& reason) {
  store.atomically([&] {
    auto job = store.find_job(id);
    if (!job || has_ended(*job)) return;
    JobRecord record = *job->record;
    record.cause = cause_of(run);
    record.lost_nodes = run.lost;
    job->record = std::move(record);
    job->reason = reason;
    store.update_job(*job);
  });
}

void note_wait(state::Store& store, const std::string& id, const std::string& reason) {
  store.atomically([&] {
    auto job = store.find_job(id);
    if (!job || has_ended(*job) || job->reason == reason) return;
    job->reason = reason;
    store.update_job(*job);
  });
}

void mark_ended(state::Store& store, state::Job& job, const JobOutcome& outcome) {
  if (has_ended(job)) return;
  store.atomically([&] {
    // Another process may have recorded the end since `job` was read.
    if (auto recorded = store.find_job(job.id); recorded && has_ended(*recorded)) {
      job = std::move(*recorded);
      return;
    }
    const JobState before = std::exchange(job.state, outcome.state);
    job.exit_code = outcome.exit_code;
    job.reason = outcome.reason;
    const state::TimePoint now = std::chrono::system_clock::now();
    job.ended = std::clamp(outcome.ended.value_or(now), std::min(job.created, now), now);
    note_end_in_record(job, outcome, before);
    note_beginning(job, outcome);
    store.update_job(job);
  });
}

void note_outputs(state::Store& store, const std::string& id, state::Outputs outputs,
                  const std::string& why) {
  store.atomically([&] {
    auto job = store.find_job(id);
    if (!job) return;
    JobRecord record = *job->record;
    record.outputs = outputs;
    job->record = std::move(record);
    if (outputs == state::Outputs::incomplete && job->exit_code == 0) {
      job->exit_code = 1;
      if (job->reason.empty()) job->reason = why;
    }
    store.update_job(*job);
  });
}

void note_bundle(state::Store& store, const std::string& id, const std::string& why) {
  change_record(store, id, [&](JobRecord& record) {
    record.bundle_awaited = false;
    if (!why.empty()) record.not_done.push_back(why);
  });
}

void note_not_done(state::Store& store, const std::string& id, const std::string& what) {
  change_record(store, id, [&](JobRecord& record) { record.not_done.push_back(what); });
}

bool has_ended(const state::Job& job) noexcept {
  return has_ended(job.state);
}

bool has_ended(state::JobState state) noexcept {
  switch (state) {
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
