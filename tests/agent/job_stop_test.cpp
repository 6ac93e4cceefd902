// The end of jobs of a real agent: by request, by lease, by time, with everything they started.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "agent/files/disk.hpp"
#include "process/child.hpp"
#include "process/command.hpp"
#include "support/agent_job.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::AgentJob;
using test::eventually;
using test::follow;
using test::Followed;
using test::kOneRank;
using test::read_text;
using test::run_agent;
using test::running;

TEST_SUITE_BEGIN("agent/job_stop");

TEST_CASE("a job that was stopped before its start arrived does not run") {
  AgentJob job("echo ran");
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].cause == StopCause::request);
  CHECK(seen.logs.count("launcher.out") == 0);
}

/// A node without the supervisor, whose daemon starts rank 0 and stays until the job ends.
class RankNode {
 public:
  explicit RankNode(AgentJob& job) : daemon_(command_for(job)) {}
  void end_job() { daemon_.signal(SIGKILL); }

 private:
  static process::Command command_for(AgentJob& job) {
    job.write_ranks();
    process::Command command = test::agent_command(job.home, {});
    process::set_variable(*command.environment, "FASTGPU_JOB_ID=" + job.rank.id);
    command.argv = {"sh", "-c",
                    "OMPI_COMM_WORLD_RANK=0 '" + test::agent_path() +
                        "' rank job; code=$?; cd; echo $code >job/code; exec sleep 4717"};
    return command;
  }
  process::Child daemon_;
};

TEST_CASE("daemons of a program end with the job on nodes without the supervisor, and no sooner") {
  AgentJob job("", "env -i setsid -f sleep 4717.1; (sleep 4717.1 &) ; exit 6");
  RankNode node(job);
  CHECK(eventually([&] { return read_text(job.directory() / "code") == "6\n"; }));
  CHECK(eventually([] { return running("sleep 4717.1") == 2; }));
  node.end_job();
  CHECK(eventually([] { return running("sleep 4717.1") == 0; }));
}

TEST_CASE("daemons outlive a job that is asked to leave them, unless it is stopped") {
  for (const bool stopped : {false, true}) {
    CAPTURE(stopped);
    const std::string after = stopped ? "sleep 60" : "true";
    AgentJob job("", "env -i setsid -f sleep 4717.2; " + after);
    job.rank.keeps_processes = true;
    RankNode node(job);
    CHECK(eventually([] { return running("sleep 4717.2") == 1; }));
    if (stopped) run_agent(job.home, {"job-sweep", job.rank.id});
    if (!stopped) CHECK(eventually([&] { return !read_text(job.directory() / "code").empty(); }));
    node.end_job();
    if (stopped) CHECK(eventually([] { return running("sleep 4717.2") == 0; }));
    if (stopped) continue;
    std::this_thread::sleep_for(500ms);
    CHECK(running("sleep 4717.2") == 1);
    const Cancel never;
    process::capture({.argv = {"pkill", "-f", "^sleep 4717[.]2$"}}, {}, never);
  }
}

TEST_CASE("daemons of a rank that fails do not outlive its job, even if they were to stay") {
  AgentJob job("", "env -i setsid -f sleep 4717.3; (sleep 4717.3 &) ; exit 6");
  job.rank.keeps_processes = true;
  RankNode node(job);
  CHECK(eventually([&] { return read_text(job.directory() / "code") == "6\n"; }));
  CHECK(eventually([] { return running("sleep 4717.3") == 2; }));
  node.end_job();
  CHECK(eventually([] { return running("sleep 4717.3") == 0; }));
}

TEST_CASE("shared memory of MPI is in a directory that goes with the job, also after a kill") {
  AgentJob job(kOneRank,
               "echo \"$OMPI_MCA_btl_vader_backing_directory\"; "
               "echo x >\"$OMPI_MCA_btl_vader_backing_directory/segment\"; kill -KILL $$");
  CHECK(job.start().status.ok());
  std::string place = follow(job.home, {"job"}).logs.at("0.out");
  place.pop_back();
  CHECK(place == "/dev/shm/fastgpu-" + std::to_string(::getuid()) + "-" + job.spec.id);
  CHECK(eventually([&] { return !std::filesystem::exists(place); }));
}

TEST_CASE("a job whose lease nobody renews is ended, with everything it started") {
  AgentJob job("setsid sh -c 'trap \"\" TERM; while :; do sleep 4712.1; done' & sleep 4712.1");
  job.spec.lease = 1s;
  CHECK(job.start().status.ok());
  CHECK(eventually([&] { return std::filesystem::exists(job.directory() / "status"); }));
  CHECK(parse_job_end(read_text(job.directory() / "status")).cause == StopCause::lease);
  CHECK(running("sleep 4712.1") == 0);
}

TEST_CASE("a follower renews the lease for as long as it is asked") {
  AgentJob job("sleep 2.5; echo done");
  job.spec.lease = 1s;
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job", "--renew-lease"});
  CHECK(seen.job.at(0).cause == StopCause::none);
  CHECK(seen.logs.at("launcher.out") == "done\n");
}

TEST_CASE("a follower that expects beats renews the lease only while they come") {
  AgentJob job("sleep 4712.3");
  job.spec.lease = 1s;
  CHECK(job.start().status.ok());
  process::Child follower =
      test::start_follower(job.home, {"job", "--renew-lease", "--beats", "500"});
  for (int i = 0; i < 25; ++i) {
    CHECK(::write(follower.in().get(), ".", 1) == 1);
    std::this_thread::sleep_for(100ms);
  }
  CHECK(running("sleep 4712.3") == 1);
  Followed seen;
  CHECK(seen.read_from(follower));
  CHECK(seen.job.at(0).cause == StopCause::lease);
}

TEST_CASE("a job that runs too long is ended and says so") {
  AgentJob job("sleep 60");
  job.spec.timeout = 200ms;
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.job.at(0).cause == StopCause::timeout);
  CHECK(seen.job.at(0).how.signal == SIGTERM);
}

TEST_CASE("an order to stop that comes just after a launcher has failed is reported with its end") {
  AgentJob job("exit 7");
  CHECK(job.start().status.ok());
  const Followed before = follow(job.home, {"job"});
  CHECK(!before.job.at(0).ordered);
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  const Followed after = follow(job.home, {"job"});
  CHECK(after.job.at(0).ordered);
  CHECK(after.job.at(0).cause == StopCause::none);
  CHECK(after.job.at(0).how.code == 7);
  const auto mark = job.home.path() / "job" / kStoppedMark;
  std::filesystem::last_write_time(mark, std::filesystem::file_time_type::clock::now() + 10s);
  CHECK(!follow(job.home, {"job"}).job.at(0).ordered);
}

TEST_CASE("an order to stop that comes after a success changes nothing") {
  AgentJob job("true");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).job.at(0).how.ok());
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  CHECK(!follow(job.home, {"job"}).job.at(0).ordered);
}

TEST_CASE("stopping a job ends all of it, and stopping it again is no error") {
  AgentJob job("trap '' TERM; (while :; do sleep 4713.1; done) & while :; do sleep 4713.1; done");
  CHECK(job.start().status.ok());
  CHECK(eventually([] { return running("sleep 4713.1") == 2; }));
  CHECK(run_agent(job.home, {"job-stop", "job", "--kill-after", "1"}).status.ok());
  CHECK(running("sleep 4713.1") == 0);
  CHECK(follow(job.home, {"job"}).job.at(0).cause == StopCause::request);
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  CHECK(run_agent(job.home, {"job-stop", "no-such-job"}).status.ok());
}

TEST_CASE("on a node with ranks only, stopping and sweeping find them by their marker") {
  for (const bool sweep : {false, true}) {
    CAPTURE(sweep);
    AgentJob job("", "sleep 4714.1");
    job.write_ranks();
    process::Command command = test::agent_command(job.home, {"rank", "job"});
    process::set_variable(*command.environment, "OMPI_COMM_WORLD_RANK=0");
    process::Child rank(command);
    CHECK(eventually([] { return running("sleep 4714.1") == 1; }));
    const auto words = sweep ? std::vector<std::string>{"job-sweep", job.rank.id}
                             : std::vector<std::string>{"job-stop", "job"};
    CHECK(run_agent(job.home, words).status.ok());
    CHECK(running("sleep 4714.1") == 0);
    CHECK(eventually([&] { return rank.poll().has_value(); }));
  }
}

TEST_CASE("sessions of Open MPI whose mpirun has ended are removed, and no others") {
  AgentJob job("");
  job.write_ranks();
  const std::filesystem::path temporary = job.home.path() / "tmp";
  const std::string name = host_name() + "." + std::to_string(::geteuid());
  const std::string living = "pid." + std::to_string(::getpid());
  const std::string dead = "pid.999999999";
  for (const std::string& session :
       {"ompi." + name + "/" + dead, "ompi." + name + "/" + living, "ompi." + name + "/other",
        "prte." + name + "/dvm.999999998", "ompi.not-" + name + "/" + dead})
    test::write_file(temporary / session / "file", "x");
  for (const auto& entry : std::filesystem::directory_iterator(temporary))
    std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all);
  process::Command command = test::agent_command(job.home, {"job-sweep", job.rank.id});
  process::set_variable(*command.environment, "TMPDIR=" + temporary.string());
  CHECK(process::Child(command).wait().ok());
  CHECK_FALSE(std::filesystem::exists(temporary / ("ompi." + name) / dead));
  CHECK(std::filesystem::exists(temporary / ("ompi." + name) / living / "file"));
  CHECK(std::filesystem::exists(temporary / ("ompi." + name) / "other" / "file"));
  CHECK_FALSE(std::filesystem::exists(temporary / ("prte." + name)));
  CHECK(std::filesystem::exists(temporary / ("ompi.not-" + name) / dead / "file"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
