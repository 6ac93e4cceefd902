// Jobs across two nodes: real namespaces, real sshd, real mpirun with host keys checked.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "integration/launcher/local_nodes.hpp"
#include "integration/launcher/output_recorder.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using state::JobState;
using test::eventually;
using test::OutputRecorder;
using test::running;
using test::shell;

/// The same nodes for every test: making them takes longer than a job.
class TwoNodes {
 public:
  TwoNodes() : engine(make_mpirun_engine(client, machines.nodes(), machines.access(), options())) {}

  static RunnerOptions options() {
    return {.agent = remote::read_agent_program(test::agent_path()), .lost_after = 2s};
  }

  void start(std::vector<std::string> argv, int ranks_each = 1) {
    static int number = 0;
    seen = {};
    id = "two-" + std::to_string(++number);
    job.spec.name = {"two"};
    job.spec.argv = std::move(argv);
    job.placement.clear();
    for (const ClusterNode& node : machines.nodes()) {
      const int first = static_cast<int>(job.placement.size()) * ranks_each;
      job.placement.push_back({node.host.name, first, ranks_each});
    }
    engine->start(id, job, never);
  }
  JobOutcome follow(const Cancel& cancel) {
    return engine->follow(id, job, OnCancel::stop_job, {}, seen, cancel);
  }
  JobOutcome run(std::vector<std::string> argv, int ranks_each = 1) {
    start(std::move(argv), ranks_each);
    return follow(never);
  }
  std::string name(std::size_t index) const { return machines.nodes()[index].host.name.value; }

  test::LocalNodes machines{2};
  ssh::SshClient client;
  std::unique_ptr<JobEngine> engine;
  JobRecord job;
  std::string id;
  OutputRecorder seen;
  Cancel never;
};

void check_program_ends(TwoNodes& two) {
  const JobOutcome good = two.run(shell("echo \"$FASTGPU_RANK $(hostname)\""), 2);
  CHECK_MESSAGE(good.exit_code == 0, good.reason);
  CHECK(two.seen.logs["0.out"] == "0 " + two.name(0) + "\n");
  CHECK(two.seen.logs["1.out"] == "1 " + two.name(0) + "\n");
  CHECK(two.seen.logs["2.out"] == "2 " + two.name(1) + "\n");
  CHECK(two.seen.logs["3.out"] == "3 " + two.name(1) + "\n");
  const JobOutcome three = two.run(shell("test $FASTGPU_RANK = 0 && exit 3; sleep 4717.1"));
  CHECK(three.exit_code == 3);
  const JobOutcome segv = two.run(shell("test $FASTGPU_RANK = 1 && kill -SEGV $$; sleep 4717.1"));
  CHECK(segv.exit_code == 139);
  CHECK(segv.reason == "rank 1 on " + two.name(1) + ": killed by SIGSEGV");
  CHECK(running("sleep 4717.1") == 0);
}

void check_program_on_one_node(TwoNodes& two) {
  two.run(shell("test $FASTGPU_RANK = 0 && cp /bin/true ~/only-here; true"));
  const JobOutcome outcome = two.run({"/root/only-here"});
  CHECK(outcome.exit_code == 127);
  CHECK(outcome.reason ==
        "rank 1 on " + two.name(1) + ": /root/only-here: No such file or directory");
}

void check_cancel(TwoNodes& two) {
  two.job.spec.grace = 1s;  // The program does not end by SIGTERM.
  two.start(shell("trap '' TERM; setsid sleep 4717.2 & while :; do sleep 4717.2; done"));
  Cancel cancel;
  std::chrono::steady_clock::time_point asked;
  std::jthread later([&] {
    CHECK(eventually([] { return running("sleep 4717.2") == 4; }));
    asked = std::chrono::steady_clock::now();
    cancel.request();
  });
  CHECK(two.follow(cancel).state == JobState::cancelled);
  CHECK(std::chrono::steady_clock::now() - asked < 5s);
  CHECK(running("sleep 4717.2") == 0);
}

void check_lost_node(TwoNodes& two) {
  two.start({"sleep", "4717.3"});
  std::jthread later([&] {
    CHECK(eventually([] { return running("sleep 4717.3") == 2; }));
    two.machines.kill(1);
  });
  const JobOutcome outcome = two.follow(two.never);
  CHECK(outcome.state == JobState::lost);
  CHECK_MESSAGE(outcome.reason.find("lost contact with " + two.name(1)) == 0, outcome.reason);
  CHECK(running("sleep 4717.3") == 0);
}

TEST_SUITE_BEGIN("integration/launcher/two-nodes");

void timed(const std::string& what, TwoNodes& two, void (*check)(TwoNodes&)) {
  const auto before = std::chrono::steady_clock::now();
  check(two);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  MESSAGE(what << ": " << took.count() << " s");
}

TEST_CASE("jobs across two nodes start, end, are cancelled and lose a node as they should") {
  TwoNodes two;
  timed("ends of programs", two, check_program_ends);
  timed("a program on one node only", two, check_program_on_one_node);
  timed("cancel", two, check_cancel);
  timed("a lost node", two, check_lost_node);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
