#include "launcher/recovery.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using fastgpu::test::failure_of;
using fastgpu::test::mentions;
using Causes = std::vector<JobEndCause>;

JobSpec restarted(int retries, Causes causes) {
  JobSpec spec{.name = {"j"}, .argv = {"x"}};
  spec.retries = retries;
  spec.retry_on = std::move(causes);
  return spec;
}

TEST_SUITE_BEGIN("launcher/recovery");

TEST_CASE("causes are a list of words, each once") {
  CHECK(parse_retry_causes("node-loss,hang,node-loss") ==
        Causes{JobEndCause::node_loss, JobEndCause::hang});
  CHECK(parse_retry_causes("failure") == Causes{JobEndCause::failure});
  CHECK(mentions(failure_of([] { parse_retry_causes("hang,node-los"); }),
                 "--on: 'node-los' is not a cause of a restart, did you mean node-loss?"));
  CHECK(mentions(failure_of([] { parse_retry_causes(""); }), "''"));
  CHECK(mentions(failure_of([] { parse_retry_causes("timeout"); }), "'timeout'"));
}

TEST_CASE("what a job's owner leaves undone is another run, and what is to be done at its end") {
  JobSpec spec = restarted(2, {JobEndCause::failure});
  const JobOutcome failed{.state = state::JobState::failed,
                          .exit_code = 3,
                          .reason = "rank 0: exited with 3",
                          .cause = JobEndCause::failure};
  const JobOutcome good{.state = state::JobState::succeeded};
  const std::string gone = ": the fastgpu that was to do this has ended";
  CHECK(undone_without_owner(spec, failed, 1) == "it is not started again" + gone);
  CHECK(undone_without_owner(spec, failed, 2).empty());
  CHECK(undone_without_owner(spec, good, 0).empty());
  spec.at_end = {"--fetch", "--notify", "--post-mortem"};
  CHECK(undone_without_owner(spec, failed, 0) ==
        "it is not started again, and nothing is done for --fetch, --notify, --post-mortem" + gone);
  CHECK(undone_without_owner(spec, failed, 2) ==
        "nothing is done for --fetch, --notify, --post-mortem" + gone);
  CHECK(undone_without_owner(spec, good, 0) == "nothing is done for --fetch, --notify" + gone);
  spec.at_end = {"--post-mortem"};
  CHECK(undone_without_owner(spec, good, 0).empty());
}

TEST_CASE("a job is started again for its causes alone, and only so often as it says") {
  const JobSpec spec = restarted(2, usual_retry_causes());
  CHECK(wait_before_restart(spec, JobEndCause::node_loss, 0) == 1s);
  CHECK(wait_before_restart(spec, JobEndCause::hang, 1) == 2s);
  CHECK_FALSE(wait_before_restart(spec, JobEndCause::preempted, 2));
  for (const JobEndCause cause :
       {JobEndCause::none, JobEndCause::failure, JobEndCause::launcher, JobEndCause::timeout,
        JobEndCause::cancelled, JobEndCause::contact})
    CHECK_FALSE(wait_before_restart(spec, cause, 0));
  CHECK(wait_before_restart(restarted(1, {JobEndCause::failure}), JobEndCause::failure, 0));
  CHECK_FALSE(wait_before_restart(restarted(0, usual_retry_causes()), JobEndCause::hang, 0));
}

TEST_CASE("a job that would be started again by default has the reason why it is not") {
  const JobSpec spec = restarted(2, {JobEndCause::preempted});
  CHECK(reason_against_restart(spec, JobEndCause::node_loss, 0) ==
        "; the job is not started again, because --on (retry_on) lacks node-loss");
  CHECK(reason_against_restart(spec, JobEndCause::node_loss, 2).empty());
  CHECK(reason_against_restart(spec, JobEndCause::preempted, 0).empty());
  CHECK(reason_against_restart(spec, JobEndCause::failure, 0).empty());
  CHECK(reason_against_restart(spec, JobEndCause::none, 0).empty());
  CHECK(reason_against_restart(restarted(0, {}), JobEndCause::node_loss, 0).empty());
}

TEST_CASE("the wait before a restart doubles up to a minute") {
  const JobSpec spec = restarted(1'000, usual_retry_causes());
  CHECK(wait_before_restart(spec, JobEndCause::hang, 5) == 32s);
  CHECK(wait_before_restart(spec, JobEndCause::hang, 6) == 60s);
  CHECK(wait_before_restart(spec, JobEndCause::hang, 999) == 60s);
}

TEST_CASE("after a cloud's notice a lost node was preempted, and a time limit is still one") {
  CHECK(with_notice(JobEndCause::node_loss, true) == JobEndCause::preempted);
  CHECK(with_notice(JobEndCause::failure, true) == JobEndCause::preempted);
  CHECK(with_notice(JobEndCause::launcher, true) == JobEndCause::preempted);
  CHECK(with_notice(JobEndCause::node_loss, false) == JobEndCause::node_loss);
  CHECK(with_notice(JobEndCause::timeout, true) == JobEndCause::timeout);
  CHECK(with_notice(JobEndCause::cancelled, true) == JobEndCause::cancelled);
  CHECK(with_notice(JobEndCause::none, true) == JobEndCause::none);
}

TEST_CASE("lost nodes are left out where the ranks fit without them") {
  const std::vector<NodeSlots> nodes = {{{"n-0"}, 2}, {{"n-1"}, 2}, {{"n-2"}, 2}};
  JobSpec spec = restarted(1, usual_retry_causes());
  spec.ranks = 4;
  const auto kept = nodes_for_restart(nodes, {{"n-1"}}, spec);
  REQUIRE(kept.size() == 2);
  CHECK(kept[1].name.value == "n-2");
  CHECK(nodes_for_restart(nodes, {{"n-1"}, {"n-2"}}, spec).size() == 3);
  CHECK(nodes_for_restart(nodes, {}, spec).size() == 3);
}

TEST_CASE("a job that needs its lost nodes does not fit without them, unless slots may be shared") {
  const std::vector<NodeSlots> nodes = {{{"n-0"}, 2}, {{"n-1"}, 2}};
  JobSpec spec = restarted(1, usual_retry_causes());
  spec.ranks = 4;
  CHECK(fits_without(nodes, {}, spec));
  CHECK_FALSE(fits_without(nodes, {{"n-1"}}, spec));
  CHECK_FALSE(fits_without({}, {}, spec));
  spec.crowding = Crowding::allowed;
  CHECK(fits_without(nodes, {{"n-1"}}, spec));
  CHECK_FALSE(fits_without(nodes, {{"n-0"}, {"n-1"}}, spec));
}

TEST_CASE("the first run of a job has its id as its name, and the next ones a number") {
  CHECK(run_name("train-1", 0) == "train-1");
  CHECK(run_name("sweep-1.7", 2) == "sweep-1.7.r2");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
