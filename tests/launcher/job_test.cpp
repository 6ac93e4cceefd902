#include "launcher/job.hpp"

#include <doctest/doctest.h>

#include "launcher/job_store.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

JobRecord example() {
  return {.spec = {.name = {"train"},
                   .argv = {"python", "a b", "\xff"},
                   .environment = {"TOKEN=secret"},
                   .directory = "work",
                   .timeout = std::chrono::seconds(90),
                   .presence = Presence::detached},
          .placement = {{{"demo-0"}, 0, 2}, {{"demo-1"}, 2, 1}}};
}

TEST_SUITE_BEGIN("launcher/job");

TEST_CASE("what cannot run is refused before anything is done") {
  const auto refused = [](auto change) {
    JobSpec spec = example().spec;
    change(spec);
    return std::string(failure_of([&] { validate(spec); }).what());
  };
  CHECK_NOTHROW(validate(example().spec));
  CHECK(refused([](JobSpec& s) { s.argv.clear(); }) == "job: no program given");
  CHECK(refused([](JobSpec& s) { s.grace = std::chrono::seconds(3601); }) ==
        "job: the grace (--grace) is 3601s, which is not within 0 to 1h");
  CHECK(refused([](JobSpec& s) { s.hang_timeout = std::chrono::milliseconds(1999); }) ==
        "job: the time to a hang (--hang-timeout) is 1999ms, which is shorter than 2s");
  CHECK(refused([](JobSpec& s) { s.environment = {"A"}; }) == "job: variable 'A' has no '='");
  CHECK(refused([](JobSpec& s) { s.environment = {"1A=x"}; }) ==
        "job: '1A' is not a variable name");
  for (const std::string name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
        "FASTGPU_RANK", "FASTGPU_NODE_RANK", "FASTGPU_JOB_ID"})
    CHECK(refused([&](JobSpec& s) { s.environment = {name + "=0"}; }) ==
          "job: the variable " + name +
              " is set by fastgpu for each rank and cannot be overridden");
  for (const std::string own : {"MASTER_ADDR=10.0.0.9", "MASTER_PORT=29500", "RANKS=2"}) {
    JobSpec spec = example().spec;
    spec.environment = {own};
    CHECK_NOTHROW(validate(spec));
  }
  CHECK(refused([](JobSpec& s) { s.ranks = 0; }).find("0 is not within 1 to") != std::string::npos);
  CHECK(refused([](JobSpec& s) {
          s.directory = "~ann";
        }).find("job: the working directory '~ann'") == 0);
  CHECK(refused([](JobSpec& s) {
          s.checkpoints = "$A/x";
        }).find("job: the directory for checkpoints '$A/x'") == 0);
  CHECK(refused([](JobSpec& s) {
          s.engine = EngineKind::kubernetes;
          s.directory = "~/x";
        }).find("job: the working directory '~/x': the home directory in a pod") == 0);
  CHECK(refused([](JobSpec& s) { s.name = {"a/b"}; }).find("a/b") != std::string::npos);
}

TEST_CASE("a job that runs has the machines of its nodes on record") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  const state::ClusterId cluster{"c0ffee00"};
  store.insert_cluster({.id = cluster, .name = {"demo"}, .provider = "local"});
  store.put_node({.cluster = cluster, .index = 0, .name = {"demo-0"}, .instance_id = "i-17"});
  JobRecord record = example();
  record.placement = {{{"demo-0"}, 0, 1}, {{"demo-1"}, 1, 1}};
  state::Job job = insert_job(store, cluster, record);
  mark_running(store, job);
  const auto placement = store.find_job(job.id)->record->placement;
  REQUIRE(placement.size() == 2);
  CHECK(placement[0].instance_id == "i-17");
  CHECK(placement[1].instance_id.empty());
}

TEST_CASE("a job keeps its first outcome in the state directory") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  state::Job job = insert_job(store, {"c0ffee00"}, example());
  mark_running(store, job);
  mark_ended(store, job,
             {.state = state::JobState::failed,
              .exit_code = 3,
              .reason = "rank 0",
              .failure = state::FirstFailure{.rank = 2,
                                             .node = {"demo-1"},
                                             .exit_code = 135,
                                             .signal = "SIGBUS",
                                             .full_disk = "/jobs",
                                             .last_lines = {"a", "\xff"}},
              .lost = {{"demo-0"}},
              .full_disks = {{{"demo-1"}, "/jobs"}}});
  mark_ended(store, job, {});
  const auto stored = store.find_job(job.id);
  REQUIRE(stored.has_value());
  CHECK(has_ended(*stored));
  CHECK(stored_outcome(*stored).exit_code == 3);
  CHECK(stored_outcome(*stored).reason == "rank 0");
  REQUIRE((*stored->record).failure.has_value());
  CHECK((*stored->record).failure->rank == 2);
  CHECK((*stored->record).failure->node.value == "demo-1");
  CHECK((*stored->record).failure->signal == "SIGBUS");
  CHECK((*stored->record).failure->exit_code == 135);
  CHECK((*stored->record).failure->full_disk == "/jobs");
  CHECK((*stored->record).failure->last_lines == std::vector<std::string>{"a", "\xef\xbf\xbd"});
  CHECK((*stored->record).lost_nodes == std::vector<NodeName>{{"demo-0"}});
  REQUIRE((*stored->record).full_disks.size() == 1);
  CHECK((*stored->record).full_disks[0].path == "/jobs");
  CHECK((*stored->record).spec.grace == example().spec.grace);
}

TEST_CASE("a job that is started again has the end of its last run on record meanwhile") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  state::Job job = insert_job(store, {"c0ffee00"}, example());
  mark_running(store, job);
  const JobOutcome run{.state = state::JobState::lost,
                       .exit_code = 1,
                       .reason = "lost contact",
                       .cause = JobEndCause::node_loss,
                       .lost = {{"demo-0"}}};

  note_restart(store, job.id, run, "it is started again");

  auto stored = store.find_job(job.id);
  REQUIRE(stored.has_value());
  CHECK(stored->state == state::JobState::running);
  CHECK(stored->reason == "it is started again");
  CHECK((*stored->record).cause == JobEndCause::node_loss);
  CHECK((*stored->record).lost_nodes == std::vector<NodeName>{{"demo-0"}});
  note_wait(store, job.id, "no node answers");
  CHECK(store.find_job(job.id)->reason == "no node answers");
  mark_ended(store, job, {.state = state::JobState::cancelled, .exit_code = 130});
  note_wait(store, job.id, "no node answers");
  note_restart(store, job.id, run, "it is started again");
  CHECK(store.find_job(job.id)->reason.empty());
}

TEST_CASE("a job that ends in the queue has never begun, unless it was to start again") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  const auto never_began_after = [&](state::JobState before, int restarts) {
    JobRecord record = example();
    record.restarts = restarts;
    state::Job job = insert_job(store, {"c0ffee00"}, record);
    job.state = before;
    store.update_job(job);
    mark_ended(store, job, {.state = state::JobState::cancelled, .exit_code = 130});
    return (*store.find_job(job.id)->record).never_began;
  };
  CHECK(never_began_after(state::JobState::queued, 0));
  CHECK_FALSE(never_began_after(state::JobState::queued, 1));
  CHECK_FALSE(never_began_after(state::JobState::running, 0));
}

TEST_CASE("a job whose start is not confirmed gets its name in the engine when it is found") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  state::Job job = insert_job(store, {"c0ffee00"}, example());
  job.state = state::JobState::starting;
  job.reason = "its start is not confirmed";
  store.update_job(job);
  note_glance(store, job, {.nodes = "n1", .engine_id = "train-1"});
  note_glance(store, job, {.nodes = "n1", .engine_id = "another"});
  const auto stored = store.find_job(job.id);
  CHECK(stored->state == state::JobState::running);
  CHECK(stored->reason.empty());
  CHECK((*stored->record).engine_job.id == "train-1");
  CHECK((*stored->record).engine_job.nodes == "n1");
}

TEST_CASE("every bad end has a cause") {
  const test::TempDirectory directory;
  state::Store store(directory.path());
  const auto cause_after = [&](const JobOutcome& outcome) {
    state::Job job = insert_job(store, {"c0ffee00"}, example());
    mark_ended(store, job, outcome);
    return (*store.find_job(job.id)->record).cause;
  };
  CHECK(cause_after({}) == JobEndCause::none);
  CHECK(cause_after({.state = state::JobState::lost}) == JobEndCause::contact);
  CHECK(cause_after({.state = state::JobState::failed}) == JobEndCause::launcher);
  CHECK(cause_after({.state = state::JobState::cancelled, .cause = JobEndCause::failure}) ==
        JobEndCause::cancelled);
  CHECK(cause_after({.state = state::JobState::failed, .cause = JobEndCause::hang}) ==
        JobEndCause::hang);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
