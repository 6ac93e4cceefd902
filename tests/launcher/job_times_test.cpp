#include "launcher/job_times.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "launcher/job_store.hpp"
#include "state/record_text.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using state::JobState;
using state::TimePoint;

const TimePoint kCreated{std::chrono::seconds(1'700'000'000)};

JobRecord record_of(EngineKind engine = EngineKind::mpirun) {
  return {.spec = {.name = {"train"}, .argv = {"x"}, .engine = engine},
          .placement = {{{"demo-0"}, 0, 1}}};
}

state::Job job_in(JobState now, const JobRecord& record) {
  state::Job job{.id = "train-1", .cluster = {"c0ffee00"}, .record = record, .state = now};
  job.created = kCreated;
  return job;
}

/// Stores a job that was created at kCreated.
state::Job stored_job(state::Store& store, const JobRecord& record) {
  state::Job job = insert_job(store, {"c0ffee00"}, record);
  job.created = kCreated;
  return job;
}

TEST_SUITE_BEGIN("launcher/job_times");

TEST_CASE("a job runs from the start of its ranks to its end, and not while it waits") {
  JobRecord record = record_of();
  record.started = kCreated + 100s;
  state::Job job = job_in(JobState::running, record);
  CHECK(beginning_of(course_of(job)) == kCreated + 100s);
  CHECK(run_time_of(course_of(job), kCreated + 160s) == 60s);
  job.ended = kCreated + 130s;
  CHECK(run_time_of(course_of(job), kCreated + 160s) == 30s);
  for (const JobState waits : {JobState::queued, JobState::starting}) {
    const state::Job waiting = job_in(waits, record_of());
    CHECK_FALSE(beginning_of(course_of(waiting)).has_value());
    CHECK(run_time_of(course_of(waiting), kCreated + 160s) == 0s);
  }
  JobRecord cancelled = record_of();
  cancelled.never_began = true;
  CHECK(run_time_of(course_of(job_in(JobState::cancelled, cancelled)), kCreated + 160s) == 0s);
}

TEST_CASE("a record without the time of the start counts from the creation") {
  state::Job job = job_in(JobState::succeeded, record_of());
  job.ended = kCreated + 7s;
  CHECK(beginning_of(course_of(job)) == kCreated);
  CHECK(run_time_of(course_of(job), kCreated + 160s) == 7s);
  JobRecord late = record_of();
  late.started = kCreated - 5s;  // The clock was set.
  CHECK(beginning_of(course_of(job_in(JobState::running, late))) == kCreated);
}

TEST_CASE("the start is on record, and is read without the rest of the record") {
  JobRecord record = record_of();
  record.started = kCreated + 1'234ms;
  record.never_began = true;
  const std::string text = state::record_text_of(record);
  CHECK(text.find("\"started_ms\":1700000001234") != std::string::npos);
  state::Job job = job_in(JobState::succeeded, record_of());
  state::read_record_text(job, text);
  CHECK(state::recorded_start(job).started == record.started);
  CHECK(state::recorded_start(job).never_began);
  state::read_record_text(job, "{damaged");
  CHECK_FALSE(state::recorded_start(job).started.has_value());
}

TEST_CASE("a job of mpirun has started once it is marked as running, and a restart keeps that") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  state::Job job = stored_job(store, record_of());
  CHECK_FALSE(job.record->started.has_value());
  mark_running(store, job);
  const auto started = store.find_job(job.id)->record->started;
  REQUIRE(started.has_value());
  mark_running(store, job);
  CHECK(job.record->started->time_since_epoch() / 1ms == started->time_since_epoch() / 1ms);
}

TEST_CASE("a job in a scheduler starts when it leaves the queue there, or its ranks have begun") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  state::Job job = stored_job(store, record_of(EngineKind::slurm));
  mark_running(store, job);  // It has been submitted.
  CHECK_FALSE(job.record->started.has_value());
  note_glance(store, job, {.waits = true, .reason = "waits", .engine_id = "17"});
  CHECK_FALSE(beginning_of(course_of(job)).has_value());
  note_glance(store, job, {.engine_id = "17"});
  CHECK(job.record->started.has_value());
  mark_ended(store, job, {.began = kCreated + 3s});
  CHECK(store.find_job(job.id)->record->started == kCreated + 3s);
}

TEST_CASE("a job that is looked at late has its own times, and not those of the look") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  state::Job job = stored_job(store, record_of(EngineKind::slurm));
  note_glance(store, job, {.began = kCreated + 5s, .engine_id = "17"});
  CHECK(store.find_job(job.id)->record->started == kCreated + 5s);
  mark_ended(store, job, {.ended = kCreated + 7s});
  CHECK(store.find_job(job.id)->ended == kCreated + 7s);
  CHECK(run_time_of(course_of(job), kCreated + 160s) == 2s);
}

TEST_CASE("a job that was cancelled in the queue of its engine has not run") {
  for (const EngineKind engine : {EngineKind::slurm, EngineKind::kubernetes}) {
    const test::TempDirectory directory;
    state::Store store(directory.path());
    state::Job job = stored_job(store, record_of(engine));
    mark_running(store, job);
    note_glance(store, job, {.waits = true, .reason = "waits", .engine_id = "17"});
    mark_ended(store, job, {.state = JobState::cancelled});
    CHECK(run_time_of(course_of(job), kCreated + 160s) == 0s);
  }
}

TEST_CASE("the first rank that began, by the clock of its node, begins the job") {
  const auto rank = [](std::int64_t seconds) {
    agent::RankEnd end;
    end.began = seconds * 1'000'000'000;
    return end;
  };
  CHECK_FALSE(first_beginning({}).has_value());
  const std::vector<agent::RankEnd> unknown = {rank(0)};
  CHECK_FALSE(first_beginning(unknown).has_value());
  const std::vector<agent::RankEnd> three = {rank(0), rank(1'700'000'005), rank(1'700'000'002)};
  CHECK(first_beginning(three) == kCreated + 2s);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
