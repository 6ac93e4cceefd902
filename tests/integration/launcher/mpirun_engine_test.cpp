// Jobs by the real agent and the real mpirun, on "nodes" that are directories of this machine.
#include "launcher/mpirun_engine.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <thread>

#include "fakes/local_shell_ssh.hpp"
#include "integration/launcher/output_recorder.hpp"
#include "launcher/placement.hpp"
#include "support/agent_process.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using state::JobState;
using test::eventually;
using test::failure_of;
using test::OutputRecorder;
using test::running;
using test::shell;

/// Nodes "demo-0", "demo-1", ... as directories below a home of the test's own.
class Cluster {
 public:
  explicit Cluster(int count = 1, std::chrono::milliseconds lease = 30s) {
    std::vector<ClusterNode> nodes;
    for (int i = 0; i < count; ++i) {
      ClusterNode node;
      node.host.name = {"demo-" + std::to_string(i)};
      node.host.user = "root";
      node.peer = {.address = "127.0.0." + std::to_string(i + 1), .user = "root"};
      nodes.push_back(node);
    }
    engine =
        make_mpirun_engine(client, nodes, ClusterAccess{"c0ffee00", Secret("none")},
                           RunnerOptions{.agent = remote::read_agent_program(test::agent_path()),
                                         .lease = lease,
                                         .lost_after = 1s,
                                         .network_check = NetworkCheck::off});
  }
  ~Cluster() {
    if (!id.empty()) engine->stop(id, job);
  }

  void start(std::vector<std::string> argv, int ranks = 1) {
    static int number = 0;
    id = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    job.spec.name = {"test"};
    job.spec.argv = std::move(argv);
    if (job.placement.empty()) job.placement = {{{"demo-0"}, 0, ranks}};
    engine->start(id, job, never);
  }

  JobOutcome follow(const Cancel& cancel, OnCancel on_cancel = OnCancel::stop_job,
                    const FollowingOptions& options = {}) {
    return engine->follow(id, job, on_cancel, options, seen, cancel);
  }
  JobOutcome follow() { return follow(never); }

  JobOutcome run(std::vector<std::string> argv, int ranks = 1) {
    start(std::move(argv), ranks);
    return follow();
  }

  test::ScratchHome home;
  test::LocalShellSsh client{home.path()};
  std::unique_ptr<JobEngine> engine;
  JobRecord job;
  std::string id;
  OutputRecorder seen;
  Cancel never;
};

TEST_SUITE_BEGIN("integration/launcher");

TEST_CASE("a program that ends well is a success, with the output of every rank") {
  Cluster cluster;
  const JobOutcome outcome =
      cluster.run(shell("echo \"rank $FASTGPU_RANK of $FASTGPU_WORLD_SIZE\""), 2);
  CHECK(outcome.state == JobState::succeeded);
  CHECK(outcome.exit_code == 0);
  CHECK(cluster.seen.logs.at("0.out") == "rank 0 of 2\n");
  CHECK(cluster.seen.logs.at("1.out") == "rank 1 of 2\n");
}

TEST_CASE("a trial finds that a job cannot start, and starts nothing") {
  Cluster cluster(2);
  cluster.job.spec.name = {"test"};
  cluster.job.placement = {{{"demo-0"}, 0, 1}, {{"demo-1"}, 1, 1}};
  cluster.job.spec.argv = {"true"};
  CHECK_FALSE(cluster.engine->try_start(cluster.job, Cancel()).outcome);
  CHECK_FALSE(std::filesystem::exists(cluster.home.path() / ".fastgpu/jobs"));
  cluster.job.spec.argv = {"/nonexistent/program"};
  const auto program = cluster.engine->try_start(cluster.job, Cancel()).outcome;
  REQUIRE(program);
  CHECK(program->exit_code == 127);
  CHECK(program->reason == "demo-0: /nonexistent/program does not exist");
  cluster.job.spec.argv = {"/etc/passwd"};
  CHECK(cluster.engine->try_start(cluster.job, Cancel()).outcome.value().exit_code == 126);
  cluster.job.spec.argv = {"true"};
  cluster.job.spec.directory = "/nonexistent";
  const auto directory = cluster.engine->try_start(cluster.job, Cancel()).outcome;
  REQUIRE(directory);
  CHECK(directory->exit_code == 127);
  CHECK(directory->reason.find("/nonexistent does not exist") != std::string::npos);
}

TEST_CASE("ranks are told where to meet, and the secret is in no argument list and no variable") {
  Cluster cluster;
  cluster.job.spec.environment = {"TOKEN=token-4716"};
  // By the shell's own means, for a grep would have the secret among its arguments.
  cluster.run(shell("all=$(cat /proc/[0-9]*/cmdline | tr '\\0' ' ')\n"
                    "secret=$(cat \"$FASTGPU_COMM_SECRET_FILE\")\n"
                    "case \"$all\" in *$secret*|*token-''4716*) echo leak;; esac\n"
                    "case \"$(env)\" in *$secret*) echo shown;; esac\n"
                    "stat -c %a \"$FASTGPU_COMM_SECRET_FILE\"\n"
                    "echo \"$FASTGPU_COMM_MASTER_ADDR $FASTGPU_COMM_MASTER_PORT "
                    "${#secret} $TOKEN\""),
              2);
  CHECK(cluster.seen.logs.at("0.out") == cluster.seen.logs.at("1.out"));
  CHECK(cluster.seen.logs.at("0.out").find("600\n127.0.0.1 ") == 0);
  CHECK(cluster.seen.logs.at("0.out").ends_with(" 64 token-4716\n"));
}

TEST_CASE("a program's own exit code is ours, and the rank is named") {
  Cluster cluster;
  const JobOutcome outcome = cluster.run(shell("test $FASTGPU_RANK = 1 && exit 3; sleep 60"), 2);
  CHECK(outcome.state == JobState::failed);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.reason == "rank 1 on demo-0: exited with 3");
}

TEST_CASE("a program that a signal ends is 128 and the signal") {
  Cluster cluster;
  const JobOutcome outcome =
      cluster.run(shell("test $FASTGPU_RANK = 0 && kill -SEGV $$; sleep 60"), 2);
  CHECK(outcome.exit_code == 139);
  CHECK(outcome.reason == "rank 0 on demo-0: killed by SIGSEGV");
}

TEST_CASE("a program that does not exist is named with its node") {
  Cluster cluster;
  const JobOutcome outcome = cluster.run({"no-such-program"}, 2);
  CHECK(outcome.exit_code == 127);
  CHECK(outcome.reason.find(" on demo-0: no-such-program: No such file or directory") !=
        std::string::npos);
}

TEST_CASE("arguments arrive unchanged, whatever is in them") {
  Cluster cluster;
  const std::string odd = "a b'\"$HOME;`id`\n\xff\xc3\xa4*--";
  cluster.run({"printf", "%s|%s|", odd, "-np"});
  CHECK(cluster.seen.logs.at("0.out") == odd + "|-np|");
}

TEST_CASE("a cancel ends all ranks within their grace, stubborn ones too") {
  Cluster cluster;
  cluster.job.spec.grace = 1s;
  Cancel cancel;
  cluster.start(
      shell("trap '' TERM; setsid sleep 4716.1 & echo up; while :; do sleep 4716.1; done"), 2);
  std::chrono::steady_clock::time_point asked;
  std::jthread later([&] {
    if (!eventually([] { return running("sleep 4716.1") == 4; })) return;
    asked = std::chrono::steady_clock::now();
    cancel.request();
  });
  const JobOutcome outcome = cluster.follow(cancel);
  CHECK(outcome.state == JobState::cancelled);
  CHECK(outcome.exit_code == 130);
  CHECK(running("sleep 4716.1") == 0);
  CHECK(std::chrono::steady_clock::now() - asked < 5s);
}

TEST_CASE("a cancel reaches every program at once, and waits for those that save their work") {
  Cluster cluster;
  Cancel cancel;
  cluster.start(shell("trap 'echo asked; sleep 2; echo saved; exit 7' TERM; echo up; "
                      "while :; do sleep 0.01; done"),
                4);
  cluster.seen.on_output = [&] {
    if (cluster.seen.rank_logs() == 4) cancel.request();
  };
  CHECK(cluster.follow(cancel).exit_code == 130);
  for (int rank = 0; rank < 4; ++rank)
    CHECK(cluster.seen.logs.at(std::to_string(rank) + ".out") == "up\nasked\nsaved\n");
}

TEST_CASE("a time limit is no cut: programs save their work, within their grace") {
  Cluster cluster;
  cluster.job.spec.timeout = 1s;
  const JobOutcome outcome = cluster.run(
      shell("trap 'sleep 2; echo saved; exit 0' TERM; while :; do sleep 0.01; done"), 2);
  CHECK(outcome.exit_code == 124);
  CHECK(cluster.seen.logs.at("0.out") == "saved\n");
  CHECK(cluster.seen.logs.at("1.out") == "saved\n");
}

TEST_CASE("a job that runs too long is ended with 124") {
  Cluster cluster;
  cluster.job.spec.timeout = 500ms;
  const JobOutcome outcome = cluster.run({"sleep", "4716.2"}, 2);
  CHECK(outcome.exit_code == 124);
  CHECK(outcome.reason == "ran longer than 500ms");
  CHECK(running("sleep 4716.2") == 0);
}

TEST_CASE("a job that is left goes on, and can be followed again and read afterwards") {
  Cluster cluster;
  Cancel cancel;
  cluster.start(shell("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two"));
  cluster.seen.on_output = [&] { cancel.request(); };
  CHECK(failure_of([&] { cluster.follow(cancel, OnCancel::leave_job); }).kind() ==
        ErrorKind::interrupted);
  test::write_file(cluster.client.home("demo-0") / "go", "");
  cluster.seen = {};
  CHECK(cluster.follow().exit_code == 0);
  CHECK(cluster.seen.logs.at("0.out") == "one\ntwo\n");
  OutputRecorder logs;
  cluster.engine->logs(cluster.id, cluster.job, {.rank = 0, .tail = agent::Tail{.lines = 1}}, logs,
                       cluster.never);
  CHECK(logs.logs.at("0.out") == "two\n");
  CHECK(failure_of([&] {
          cluster.engine->logs(cluster.id, cluster.job, {.rank = 1}, logs, cluster.never);
        }).kind() == ErrorKind::usage);
  for (const auto& result : cluster.engine->remove(cluster.id, cluster.job, cluster.never))
    CHECK(result.ok());
  CHECK_FALSE(std::filesystem::exists(cluster.client.home("demo-0") / job_directory(cluster.id)));
}

TEST_CASE("a job that nobody follows any more ends by its lease, a detached one does not") {
  Cluster cluster(1, 5s);  // Long enough for a slow machine to start it.
  cluster.start({"sleep", "4716.3"});
  CHECK(eventually([] { return running("sleep 4716.3") == 1; }));
  CHECK(eventually([] { return running("sleep 4716.3") == 0; }));
  CHECK(cluster.follow().state == JobState::lost);
  Cluster other(1, 1s);
  other.job.spec.presence = Presence::detached;
  other.start({"sleep", "2.4716"});
  CHECK(other.follow().state == JobState::succeeded);
}

TEST_CASE("an mpirun that is not Open MPI's is named, and nothing is started") {
  Cluster cluster;
  const auto bin = cluster.client.home("demo-0") / "bin";
  test::write_file(bin / "mpirun", "#!/bin/sh\necho Intel MPI\n");
  std::filesystem::permissions(bin / "mpirun", std::filesystem::perms::owner_all);
  cluster.client.set_path(bin.string() + ":/usr/bin:/bin");
  const Error e = failure_of([&] { cluster.start({"true"}); });
  CHECK(std::string(e.what()).find("'Intel MPI', but Open MPI 4 or later is required") !=
        std::string::npos);
}

TEST_CASE("100 MB of output arrive byte for byte") {
  Cluster cluster;
  std::size_t total = 0;
  class Counter final : public JobObserver {
   public:
    explicit Counter(std::size_t& total) : total_(total) {}
    void output(int rank, agent::OutputStream, std::string_view bytes) override {
      constexpr std::string_view kLine = "0123456789abcdefghijklmnopqrstuvwxyz\n";
      if (rank < 0) return;
      for (const char c : bytes)
        intact = intact && c == kLine[total_++ % kLine.size()];
    }
    bool intact = true;

   private:
    std::size_t& total_;
  } counter(total);
  cluster.start(shell("yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 100000000"));
  CHECK(cluster.engine
            ->follow(cluster.id, cluster.job, OnCancel::stop_job, {}, counter, cluster.never)
            .exit_code == 0);
  CHECK(total == 100'000'000);
  CHECK(counter.intact);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
