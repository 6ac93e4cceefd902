#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <set>
#include <sstream>

#include "agent/protocol/files.hpp"
#include "support/agent_process.hpp"
#include "support/failure.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::follow;
using test::Followed;
using test::read_text;
using test::run_agent;
using test::running;
using test::ScratchHome;
using test::start_follower;
using test::write_file;

/// A job of one node: its launcher runs `launcher`, each `agent rank` runs `program`.
class Job {
 public:
  explicit Job(std::string launcher, std::string program = "true", std::vector<int> ranks = {0}) {
    spec.argv = {"sh", "-c", std::move(launcher)};
    rank.argv = {"sh", "-c", std::move(program)};
    rank.ranks = std::move(ranks);
    spec.id = rank.id = "job-" + home.path().filename().string();
    spec.grace = rank.grace = 800ms;
    spec.environment = {"AGENT=" + test::agent_path()};
  }
  ~Job() { run_agent(home, {"job-stop", "job", "--kill-after", "0"}); }

  void write() const {
    write_file(directory() / "spec", to_text(spec));
    write_ranks();
  }
  void write_ranks() const {
    write_file(directory() / "rank", to_text(rank));
    write_file(directory() / "variables", variables_text(variables));
  }
  process::Captured start() const {
    write();
    return run_agent(home, {"job-start", "job"});
  }
  std::filesystem::path directory() const { return home.path() / "job"; }

  ScratchHome home;
  JobPlan spec, rank;
  std::vector<std::string> variables;
};

const std::string kOneRank = "OMPI_COMM_WORLD_RANK=0 exec \"$AGENT\" rank job";
const std::string kTwoRanks =
    "OMPI_COMM_WORLD_RANK=0 \"$AGENT\" rank job & OMPI_COMM_WORLD_RANK=1 \"$AGENT\" rank job; wait";

/// Makes everything below `directory` look as if it was last written so long ago.
void age(const std::filesystem::path& directory, std::chrono::seconds since) {
  const auto when = std::filesystem::file_time_type::clock::now() - since;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    std::filesystem::last_write_time(entry.path(), when);
  std::filesystem::last_write_time(directory, when);
}

TEST_SUITE_BEGIN("agent/job");

TEST_CASE("a job outlives the connection that started it and keeps its status") {
  Job job("echo started; echo trouble >&2; exit 3");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].how.code == 3);
  CHECK(seen.job[0].cause == StopCause::none);
  CHECK(seen.logs.at("launcher.out") == "started\n");
  CHECK(seen.logs.at("launcher.err") == "trouble\n");
}

TEST_CASE("a broken pipe does not kill the launcher, but a program of a rank as usual") {
  Job job("kill -PIPE $$; " + kOneRank, "kill -PIPE $$; echo alive");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].how.code == 128 + SIGPIPE);  // That of the rank, which the launcher became.
  CHECK(seen.logs.count("0.out") == 0);
}

TEST_CASE("starting twice is one start") {
  Job job("echo once; sleep 0.3");
  CHECK(job.start().status.ok());
  CHECK(run_agent(job.home, {"job-start", "job"}).status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("launcher.out") == "once\n");
  CHECK(run_agent(job.home, {"job-start", "job"}).status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("launcher.out") == "once\n");
}

TEST_CASE("a job that was stopped before its start arrived does not run") {
  Job job("echo ran");
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].cause == StopCause::request);
  CHECK(seen.logs.count("launcher.out") == 0);
}

TEST_CASE("a launcher that is not there is a status, not a silence") {
  Job job("");
  job.spec.argv = {"no-such-launcher"};
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].how.code == 127);
  CHECK(seen.job[0].reason == "no-such-launcher: No such file or directory");
}

TEST_CASE("a supervisor that was killed is noticed, and its job is not started again") {
  Job job("echo ran; sleep 60");
  CHECK(job.start().status.ok());
  CHECK(eventually([&] { return read_text(job.directory() / "launcher.out") == "ran\n"; }));
  ::kill(std::stoi(read_text(job.directory() / "started")), SIGKILL);
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].cause == StopCause::vanished);
  CHECK(run_agent(job.home, {"job-start", "job"}).status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("launcher.out") == "ran\n");
  CHECK(run_agent(job.home, {"job-sweep", job.spec.id}).status.ok());
}

TEST_CASE("a rank's output is on the disk byte for byte, with how it ended") {
  Job job(kOneRank, "printf 'a\\000b\\377\\n'; printf oops >&2; exit 4");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.logs.at("0.out") == std::string("a\0b\xff\n", 5));
  CHECK(seen.logs.at("0.err") == "oops");
  CHECK(read_text(job.directory() / "ranks" / "0.out") == seen.logs.at("0.out"));
  CHECK(seen.ranks.at(0).how.code == 4);
  CHECK_FALSE(seen.ranks.at(0).told);
  CHECK(seen.job.at(0).how.code == 4);
}

TEST_CASE("a rank knows who it is, and gets its variables from the file") {
  Job job(kOneRank, "echo \"$FASTGPU_RANK $FASTGPU_JOB_ID $SECRET\"; pwd");
  job.variables = {"SECRET=a b\n$c"};
  job.rank.directory = "job/ranks";
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") ==
        "0 " + job.spec.id + " a b\n$c\n" + (job.directory() / "ranks").string() + "\n");
}

TEST_CASE("a rank may lock as much memory as its node allows, whatever its soft limit is") {
  Job job("ulimit -S -l 8 && ulimit -H -l 64 && " + kOneRank, "ulimit -S -l");
  CHECK(job.start().status.ok());
  const std::string limit = follow(job.home, {"job"}).logs.at("0.out");
  // Root may raise the hard limit, too, unless it is that of a container.
  const bool is_raised = limit == "64\n" || (::geteuid() == 0 && limit == "unlimited\n");
  CHECK_MESSAGE(is_raised, limit);
}

TEST_CASE("a rank finds the secret in a file that goes with it, not in a variable") {
  const std::string launcher = "FASTGPU_COMM_SECRET=of-this-node " + kOneRank;
  const std::string program =
      "echo \"${FASTGPU_COMM_SECRET-none} $FASTGPU_COMM_SECRET_FILE\"; "
      "cat \"$FASTGPU_COMM_SECRET_FILE\"";
  Job job(launcher, program);
  const auto file = job.directory() / "comm-secret";
  write_file(file, "hush");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") == "none " + file.string() + "\nhush");
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a secret among the job's own variables reaches its ranks") {
  Job job(kOneRank, "echo \"$FASTGPU_COMM_SECRET\"");
  job.variables = {"FASTGPU_COMM_SECRET=mine"};
  write_file(job.directory() / "comm-secret", "hush");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") == "mine\n");
}

TEST_CASE("a rank finds its place under the names that training scripts read") {
  Job job(
      "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=2 "
      "exec \"$AGENT\" rank job",
      "echo \"$RANK/$WORLD_SIZE $LOCAL_RANK $FASTGPU_RANK/$FASTGPU_WORLD_SIZE\"", {1});
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("1.out") == "1/2 1 1/2\n");
}

TEST_CASE("every port that a job asks for is another") {
  Job job("echo $A $B $C");
  job.spec.port_variables = {"A", "B", "C"};
  CHECK(job.start().status.ok());
  std::istringstream said(follow(job.home, {"job"}).logs.at("launcher.out"));
  const std::set<int> ports{std::istream_iterator<int>(said), {}};
  CHECK(ports.size() == 3);
  for (const int port : ports)
    CHECK(port >= 20'000);
}

TEST_CASE("a job's variables are on the disk for no longer than its ranks run") {
  Job job(kTwoRanks,
          "cat job/variables | tr '\\000' '\\n'; while [ ! -e job/go ]; do sleep 0.01; done",
          {0, 1});
  job.variables = {"TOKEN=secret-4718"};
  CHECK(job.start().status.ok());
  const auto said = [&] { return read_text(job.directory() / "ranks" / "1.out"); };
  CHECK(eventually([&] { return said().find("TOKEN=secret-4718") != std::string::npos; }));
  write_file(job.directory() / "go", "");
  follow(job.home, {"job"});
  CHECK_FALSE(std::filesystem::exists(job.directory() / "variables"));
}

TEST_CASE("variables of ranks that were killed go when the job is stopped, swept or tidied") {
  for (const std::string way : {"stop", "sweep", "tidy"}) {
    CAPTURE(way);
    const ScratchHome home;
    const auto directory = home.path() / ".fastgpu/jobs/killed-1";
    JobPlan rank;
    rank.id = "killed-1";
    rank.argv = {"sleep", "4718.1"};
    rank.ranks = {3};
    write_file(directory / "rank", to_text(rank));
    write_file(directory / "variables", variables_text({"TOKEN=x"}));
    write_file(directory / "comm-secret", "hush");
    process::Command command = test::agent_command(home, {"rank", ".fastgpu/jobs/killed-1"});
    process::set_variable(*command.environment, "OMPI_COMM_WORLD_RANK=3");
    process::Child child(command);
    CHECK(eventually([] { return running("sleep 4718.1") == 1; }));
    const std::string self = std::to_string(child.pid());
    const int inner = std::stoi(read_text("/proc/" + self + "/task/" + self + "/children"));
    ::kill(inner, SIGKILL);
    CHECK(eventually([] { return running("sleep 4718.1") == 0; }));
    CHECK(eventually([&] { return child.poll().has_value(); }));
    CHECK(std::filesystem::exists(directory / "variables"));
    if (way == "stop") run_agent(home, {"job-stop", ".fastgpu/jobs/killed-1"});
    if (way == "sweep") run_agent(home, {"job-sweep", "killed-1"});
    if (way == "tidy") {
      CHECK(run_agent(home, {"put-files", ".fastgpu", "--tidy", "10:1000000"}, encode_files({}))
                .status.ok());
    }
    CHECK(eventually([&] { return !std::filesystem::exists(directory / "variables"); }));
    CHECK(eventually([&] { return !std::filesystem::exists(directory / "comm-secret"); }));
    CHECK(std::filesystem::exists(directory));
  }
}

TEST_CASE("folders of ended jobs go by number and by age, with what was copied for them") {
  const ScratchHome home;
  const auto jobs = home.path() / ".fastgpu/jobs";
  const auto add = [&](const std::string& name, const std::string& how,
                       std::chrono::seconds since) {
    JobPlan plan;
    plan.id = name;
    plan.argv = {"true"};
    plan.ranks = {0};
    write_file(jobs / name / (how == "rank" ? "rank" : "spec"), to_text(plan));
    write_file(jobs / name / "work/data", "data");
    if (how == "status") write_file(jobs / name / "status", "x");
    if (how == "rank") write_file(jobs / name / "ranks/0.out", "x");
    age(jobs / name, since);
  };
  add("new-1", "status", 1s);
  add("new-2", "rank", 2s);
  add("new-3", "status", 3s);
  add("old-1", "status", 1000h);
  add("preparing-1", "none", 1h);  // Its copy may take hours.
  add("never-1", "none", 25h);
  write_file(home.path() / "precious/data", "");
  std::filesystem::create_directory_symlink(home.path() / "precious", jobs / "link");
  const auto tidy = [&](const std::string& retention) {
    CHECK(run_agent(home, {"put-files", ".fastgpu", "--tidy", retention}, encode_files({}))
              .status.ok());
  };
  const auto left = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(jobs))
      names.insert(entry.path().filename());
    return names;
  };
  tidy("10:86400");
  CHECK(eventually([&] {
    return left() == std::set<std::string>{"new-1", "new-2", "new-3", "preparing-1", "link"};
  }));
  tidy("2:86400");
  CHECK(eventually([&] {
    return left() == std::set<std::string>{"new-1", "new-2", "preparing-1", "link"};
  }));
  process::Command command{.argv = {"sleep", "4718.2"}};
  command.environment = process::current_environment();
  process::set_variable(*command.environment, "FASTGPU_JOB_ID=new-2");
  {
    const process::Child runs(command);
    CHECK(eventually([] { return running("sleep 4718.2") == 1; }));
    tidy("0:86400");
    CHECK(eventually([&] {
      return left() == std::set<std::string>{"new-2", "preparing-1", "link"};
    }));
  }
  tidy("0:86400");
  CHECK(eventually([&] { return left() == std::set<std::string>{"preparing-1", "link"}; }));
  CHECK(std::filesystem::exists(home.path() / "precious/data"));
}

TEST_CASE("a program that does not exist is named with its node") {
  Job job(kOneRank);
  job.rank.argv = {"no-such-program", "x"};
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).how.code == 127);
  CHECK(seen.ranks.at(0).reason == "no-such-program: No such file or directory");
  CHECK(seen.logs.at("0.err").find(": no-such-program: No such file or directory\n") !=
        std::string::npos);
}

TEST_CASE("a rank that a signal ends says which") {
  Job job(kOneRank, "kill -SEGV $$");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).how.signal == SIGSEGV);
  CHECK(seen.job.at(0).how.code == 139);
}

TEST_CASE("a rank that is told to stop says so, also where it ignores SIGTERM") {
  Job job(
      "OMPI_COMM_WORLD_RANK=0 \"$AGENT\" rank job & pid=$!; "
      "while ! grep -q ready job/ranks/0.out; do sleep 0.01; done; kill $pid; wait $pid",
      "trap '' TERM; echo ready; while :; do sleep 0.01; done");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).told);
  CHECK(seen.ranks.at(0).how.signal == SIGKILL);
}

TEST_CASE(
    "a rank whose launcher kills it at once still gives its program time, and says how it ended") {
  Job job(
      "OMPI_COMM_WORLD_RANK=0 \"$AGENT\" rank job & pid=$!; "
      "while ! grep -q ready job/ranks/0.out; do sleep 0.01; done; kill $pid; kill -KILL $pid; "
      "exit 1",
      "trap 'sleep 0.3; echo saved; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.ranks.contains(0));
  CHECK(seen.ranks.at(0).told);
  CHECK(seen.ranks.at(0).how.code == 5);
  CHECK(seen.logs.at("0.out") == "ready\nsaved\n");
}

TEST_CASE("the order to stop that mpirun passes on is SIGTERM for the program") {
  Job job(
      "OMPI_COMM_WORLD_RANK=0 \"$AGENT\" rank job & pid=$!; "
      "while ! grep -q ready job/ranks/0.out; do sleep 0.01; done; kill -URG $pid; wait $pid",
      "trap 'echo saved; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).told);
  CHECK(seen.ranks.at(0).how.code == 5);
  CHECK(seen.logs.at("0.out") == "ready\nsaved\n");
}

TEST_CASE("a rank whose launcher is killed ends its program by SIGTERM, and is not to blame") {
  Job job("", "trap 'echo saved; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
  job.write_ranks();
  process::Command command = test::agent_command(job.home, {});
  command.argv = {"sh", "-c", "OMPI_COMM_WORLD_RANK=0 '" + test::agent_path() + "' rank job; true"};
  process::Child daemon(command);
  const auto said = [&] { return read_text(job.directory() / "ranks" / "0.out"); };
  CHECK(eventually([&] { return said() == "ready\n"; }));
  daemon.signal(SIGKILL);
  CHECK(eventually([&] { return !read_text(job.directory() / "ranks" / "0.status").empty(); }));
  const RankEnd end = parse_rank_end(read_text(job.directory() / "ranks" / "0.status"));
  CHECK(end.told);
  CHECK(end.how.code == 5);
  CHECK(said() == "ready\nsaved\n");
}

/// A node without the supervisor, whose daemon starts rank 0 and stays until the job ends.
class RankNode {
 public:
  explicit RankNode(Job& job) : daemon_(command_for(job)) {}
  void end_job() { daemon_.signal(SIGKILL); }

 private:
  static process::Command command_for(Job& job) {
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
  Job job("", "env -i setsid -f sleep 4717.1; (sleep 4717.1 &) ; exit 6");
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
    Job job("", "env -i setsid -f sleep 4717.2; " + after);
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

TEST_CASE("shared memory of MPI is in a directory that goes with the job, also after a kill") {
  Job job(kOneRank,
          "echo \"$OMPI_MCA_btl_vader_backing_directory\"; "
          "echo x >\"$OMPI_MCA_btl_vader_backing_directory/segment\"; kill -KILL $$");
  CHECK(job.start().status.ok());
  std::string place = follow(job.home, {"job"}).logs.at("0.out");
  place.pop_back();
  CHECK(place == "/dev/shm/fastgpu-" + std::to_string(::getuid()) + "-" + job.spec.id);
  CHECK(eventually([&] { return !std::filesystem::exists(place); }));
}

/// A memory cgroup with a limit, if this machine lets us make one.
class MemoryGroup {
 public:
  MemoryGroup() {
    const std::string name = "fastgpu-test-" + std::to_string(::getpid());
    for (const auto& [parent, limit] : {std::pair("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                                        std::pair("/sys/fs/cgroup", "memory.max")}) {
      std::error_code none;
      const auto place = std::filesystem::path(parent) / name;
      if (!std::filesystem::create_directory(place, none)) continue;
      std::ofstream out(place / limit);
      if (out << "33554432" && out.flush()) {
        directory = place;
        return;
      }
      std::filesystem::remove(place, none);
    }
  }
  ~MemoryGroup() {
    std::error_code none;
    if (!directory.empty()) std::filesystem::remove(directory, none);
  }
  std::filesystem::path directory;  ///< Empty if there is none.
};

TEST_CASE("a rank that the kernel kills for its memory is told from one that somebody kills") {
  const MemoryGroup group;
  if (group.directory.empty()) {
    MESSAGE("no memory cgroup can be made here");
    return;
  }
  const std::string into = "echo $$ >" + (group.directory / "cgroup.procs").string() + "; ";
  {
    Job job(into + kOneRank, "exec tail /dev/zero");
    CHECK(job.start().status.ok());
    const Followed seen = follow(job.home, {"job"});
    CHECK(seen.ranks.at(0).how.signal == SIGKILL);
    CHECK(seen.ranks.at(0).out_of_memory);
  }
  Job job(into + kOneRank, "kill -KILL $$");
  CHECK(job.start().status.ok());
  CHECK_FALSE(follow(job.home, {"job"}).ranks.at(0).out_of_memory);
}

TEST_CASE("a job whose supervisor has not begun is no job to those who ask for one that has") {
  Job job(kOneRank, "true");
  job.write();
  const auto ask = [&] {
    return run_agent(job.home, {"job-follow", "job", "--no-follow", "--begun"});
  };
  CHECK(ask().status.code == kNotThere);
  CHECK(job.start().status.ok());
  CHECK(ask().status.ok());
}

TEST_CASE("the last lines of a rank that fails by itself are in its report, without secrets") {
  Job job(kOneRank, "echo $MINE $API_KEY; printf '\\377\\n'; echo no such file >&2; exit 3");
  job.variables = {"MINE=hunter22", "API_KEY=4711ab", "WORD=such"};
  job.rank.secrets = {"MINE"};
  CHECK(job.start().status.ok());
  const auto lines = follow(job.home, {"job"}).ranks.at(0).last_lines;
  CHECK(std::set(lines.begin(), lines.end()) ==
        std::set<std::string>{"*** ***", "\xff", "no such file"});
}

TEST_CASE("a flood of output leaves the report of a rank whole, and one that ends well has none") {
  const std::string flood =
      "i=0; while [ $i -lt 100 ]; do head -c 900 /dev/zero | tr '\\0' x; echo; "
      "i=$((i+1)); done; ";
  Job bad(kOneRank, flood + "exit 3");
  CHECK(bad.start().status.ok());
  const RankEnd end = follow(bad.home, {"job"}).ranks.at(0);
  CHECK(end.how.code == 3);
  REQUIRE(end.last_lines.size() >= 5);
  CHECK(end.last_lines.back() == std::string(kLongestLastLine, 'x'));
  Job good(kOneRank, flood);
  CHECK(good.start().status.ok());
  CHECK(follow(good.home, {"job"}).ranks.at(0).last_lines.empty());
}

TEST_CASE("100 MB of output pass through follow byte for byte") {
  Job job(kOneRank, "yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 100000000");
  CHECK(job.start().status.ok());
  process::Child follower = start_follower(job.home, {"job"});
  std::size_t total = 0;
  bool intact = true;
  launcher::FrameDecoder decoder([&](const FrameHeader& header, std::string_view text) {
    if (header.kind != FrameKind::data || header.rank != 0) return;
    constexpr std::string_view kLine = "0123456789abcdefghijklmnopqrstuvwxyz\n";
    intact = intact && header.offset == total;
    for (const char c : text)
      intact = intact && c == kLine[total++ % kLine.size()];
  });
  std::array<char, 65536> buffer;
  for (ssize_t got = 0; (got = ::read(follower.out().get(), buffer.data(), buffer.size())) > 0;)
    decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
  CHECK(decoder.ended());
  CHECK(total == 100'000'000);
  CHECK(intact);
}

TEST_CASE("a line of 10 MB without an end arrives whole") {
  Job job(kOneRank, "head -c 10000000 /dev/zero | tr '\\000' x");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") == std::string(10'000'000, 'x'));
}

TEST_CASE("a killed follower is taken up from where it was") {
  Job job(kOneRank, "echo first; while [ ! -e job/go ]; do sleep 0.01; done; echo second");
  CHECK(job.start().status.ok());
  Followed seen;
  {
    process::Child follower = start_follower(job.home, {"job"});
    std::array<char, 4096> buffer;
    while (seen.logs["0.out"].empty()) {
      const ssize_t got = ::read(follower.out().get(), buffer.data(), buffer.size());
      REQUIRE(got > 0);
      seen.decoder.feed({buffer.data(), static_cast<std::size_t>(got)});
    }
  }
  write_file(job.directory() / "go", "");
  CHECK(seen.logs.at("0.out") == "first\n");
  CHECK(follow(job.home, {"job", "--from", "0.out=6"}).logs.at("0.out") == "second\n");
}

TEST_CASE("logs can be asked for by rank, by their last lines, and without waiting") {
  Job job(kTwoRanks, "for i in 1 2 3 4; do echo \"$FASTGPU_RANK.$i\"; done; printf end", {0, 1});
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  const Followed one = follow(job.home, {"job", "--no-follow", "--ranks", "1", "--tail", "2"});
  CHECK(one.logs.size() == 1 + 0);
  CHECK(one.logs.at("1.out") == "1.4\nend");
  const Followed all = follow(job.home, {"job", "--no-follow", "--tail", "100"});
  CHECK(all.logs.at("0.out") == "0.1\n0.2\n0.3\n0.4\nend");
  CHECK(follow(job.home, {"job", "--no-follow", "--tail", "0"}).logs.empty());
  const Followed none = follow(job.home, {"job", "--no-data"});
  CHECK(none.logs.empty());
  CHECK(none.ranks.size() == 2);
}

TEST_CASE("logs have times: their lines come in order, and since a time") {
  Job job(
      kTwoRanks,
      "if [ $RANK = 0 ]; then echo a; sleep 0.4; echo c; sleep 0.8; printf 'e'; sleep 0.1; echo f; "
      "else sleep 0.2; echo b; sleep 0.4; echo d; fi",
      {0, 1});
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  const auto past = [&](const std::string& name) {
    return std::chrono::system_clock::now().time_since_epoch() -
           std::chrono::nanoseconds(
               follow(job.home, {"job", "--no-follow", "--ranks", name, "--times"}).times.back());
  };
  const Followed sorted = follow(job.home, {"job", "--no-follow", "--times"});
  CHECK(sorted.order == "a\nb\nc\nd\nef\n");
  REQUIRE(sorted.times.size() == 6);
  for (std::size_t i = 1; i < 5; ++i)
    CHECK(sorted.times[i] - sorted.times[i - 1] > 100'000'000);
  // Before the last line of rank 0 began, and after the last one of rank 1.
  const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(past("0")) + 300ms;
  const Followed late =
      follow(job.home, {"job", "--no-follow", "--since", std::to_string(ago.count())});
  CHECK(late.logs.at("0.out") == "ef\n");
  CHECK(late.logs.count("1.out") == 0);
  CHECK(follow(job.home, {"job", "--no-follow", "--since", "1000000"}).logs.at("0.out") ==
        "a\nc\nef\n");
  CHECK(follow(job.home, {"job", "--no-follow", "--since", "1000000", "--tail", "1"})
            .logs.at("0.out") == "ef\n");
}

TEST_CASE("a job whose lease nobody renews is ended, with everything it started") {
  Job job("setsid sh -c 'trap \"\" TERM; while :; do sleep 4712.1; done' & sleep 4712.1");
  job.spec.lease = 1s;
  CHECK(job.start().status.ok());
  CHECK(eventually([&] { return std::filesystem::exists(job.directory() / "status"); }));
  CHECK(parse_job_end(read_text(job.directory() / "status")).cause == StopCause::lease);
  CHECK(running("sleep 4712.1") == 0);
}

TEST_CASE("a follower renews the lease for as long as it is asked") {
  Job job("sleep 2.5; echo done");
  job.spec.lease = 1s;
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job", "--renew-lease"});
  CHECK(seen.job.at(0).cause == StopCause::none);
  CHECK(seen.logs.at("launcher.out") == "done\n");
}

TEST_CASE("a follower that expects beats renews the lease only while they come") {
  Job job("sleep 4712.3");
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
  Job job("sleep 60");
  job.spec.timeout = 200ms;
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.job.at(0).cause == StopCause::timeout);
  CHECK(seen.job.at(0).how.signal == SIGTERM);
}

TEST_CASE("stopping a job ends all of it, and stopping it again is no error") {
  Job job("trap '' TERM; (while :; do sleep 4713.1; done) & while :; do sleep 4713.1; done");
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
    Job job("", "sleep 4714.1");
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

TEST_CASE("a rank's program does not outlive a killed agent") {
  Job job("", "sleep 4715.1");
  job.write_ranks();
  process::Command command = test::agent_command(job.home, {"rank", "job"});
  process::set_variable(*command.environment, "OMPI_COMM_WORLD_RANK=0");
  job.rank.argv = {"sleep", "4715.1"};
  job.write_ranks();
  process::Child rank(command);
  CHECK(eventually([] { return running("sleep 4715.1") == 1; }));
  rank.signal(SIGKILL);
  CHECK(eventually([] { return running("sleep 4715.1") == 0; }));
}

TEST_CASE("a follower on a node with ranks only ends after the last of them, or when it is left") {
  Job job("", "echo hello");
  job.rank.ranks = {0, 5};
  job.write_ranks();
  process::Child follower = start_follower(job.home, {"job"});
  const auto run_rank = [&](const std::string& rank) {
    process::Command command = test::agent_command(job.home, {"rank", "job"});
    process::set_variable(*command.environment, "OMPI_COMM_WORLD_RANK=" + rank);
    CHECK(process::Child(command).wait().ok());
  };
  run_rank("0");
  process::Child left = start_follower(job.home, {"job"});
  left.in() = UniqueFd();
  Followed part;
  CHECK(part.read_from(left));
  CHECK(part.ranks.size() == 1);
  run_rank("5");
  Followed all;
  CHECK(all.read_from(follower));
  CHECK(all.ranks.size() == 2);
  CHECK(all.logs.at("5.out") == "hello\n");
}

TEST_CASE("files are put where they belong, private, and nowhere else") {
  const ScratchHome home;
  const std::string files = encode_files(
      {{"spec", std::string("a\0b\n", 4)}, {"ranks/x", ""}, {"run me", "#!/bin/sh\n", 0700}});
  CHECK(run_agent(home, {"put-files", "a/b"}, files).status.ok());
  CHECK(read_text(home.path() / "a/b/spec") == std::string("a\0b\n", 4));
  struct stat about {};
  REQUIRE(::stat((home.path() / "a/b/spec").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  REQUIRE(::stat((home.path() / "a").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0700);
  CHECK_FALSE(run_agent(home, {"put-files", "c"}, files.substr(0, files.size() - 2)).status.ok());
  CHECK_FALSE(run_agent(home, {"put-files", "c"}, encode_files({{"../x", ""}})).status.ok());
  CHECK_FALSE(run_agent(home, {"put-files", "c"}, encode_files({{"/x", ""}})).status.ok());
  CHECK_FALSE(std::filesystem::exists(home.path() / "c"));
}

TEST_CASE("what mpirun starts on another node has the job's marker, in whatever language") {
  const ScratchHome home;
  write_file(home.path() / "ssh",
             "#!/bin/sh\nfor word; do line=$word; done\nexec env -i \"$BY\" -fc \"$line\"\n");
  std::filesystem::permissions(home.path() / "ssh", std::filesystem::perms::owner_all);
  for (const auto& [shell, line] : {std::pair("sh", "printenv FASTGPU_JOB_ID"),
                                    std::pair("tcsh", "setenv A b; printenv FASTGPU_JOB_ID")}) {
    process::Command command =
        test::agent_command(home, {"rsh", "-x", "-F", "config", "node-1", line});
    process::set_variable(*command.environment, std::string("BY=") + shell);
    process::set_variable(*command.environment, "FASTGPU_JOB_ID=train-1");
    process::set_variable(*command.environment,
                          "PATH=" + home.path().string() + ":" + ::getenv("PATH"));
    const auto answer = process::capture(command, {}, Cancel());
    if (answer.status.code == 127) continue;  // There is no tcsh here.
    CHECK_MESSAGE(answer.out == "train-1\n", answer.err);
  }
}

TEST_CASE("a limit of file sizes is a sentence that names it, and ends nothing silently") {
  const ScratchHome home;
  process::Command command{
      .argv = {"sh", "-c", "ulimit -f 8; exec \"$0\" put-files a", test::agent_path()}};
  command.environment = process::current_environment();
  process::set_variable(*command.environment, "HOME=" + home.path().string());
  process::CaptureOptions options;
  options.input = encode_files({{"large", std::string(100'000, 'x')}});
  const auto answer = process::capture(command, options, Cancel());
  CHECK(answer.status.signal == 0);
  CHECK(answer.status.code == kNoRoom);
  CHECK(answer.err.find(": File too large (a file may have ") != std::string::npos);
  CHECK(answer.err.find(" bytes here: run `ulimit -f unlimited`)") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(home.path() / "a/large"));
}

TEST_CASE("a job's directory is removed once it has ended, and only such a directory") {
  Job job("sleep 60");
  CHECK(job.start().status.ok());
  CHECK(run_agent(job.home, {"job-remove", "job"}).status.code == 2);
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  CHECK(run_agent(job.home, {"job-remove", "job"}).status.ok());
  CHECK_FALSE(std::filesystem::exists(job.directory()));
  CHECK(run_agent(job.home, {"job-remove", "job"}).status.ok());
  std::filesystem::create_directories(job.home.path() / "precious");
  CHECK(run_agent(job.home, {"job-remove", "precious"}).status.code == 2);
}

TEST_CASE("what is not understood is refused with 2 and a sentence") {
  const ScratchHome home;
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"dance"},
                                                {"job-start"},
                                                {"job-start", "none"},
                                                {"job-follow", "x", "--from", "y"},
                                                {"job-follow", "x", "--ranks", "one"},
                                                {"job-stop", "x", "--kill-after", "-1"},
                                                {"rank", "x"},
                                                {"job-sweep", ""}}) {
    const auto answer = run_agent(home, words);
    CHECK(answer.status.code == 2);
    CHECK_FALSE(answer.err.empty());
  }
}

TEST_CASE("facts fail where a rank could not start") {
  const ScratchHome home;
  std::filesystem::create_directory(home.path() / "work");
  write_file(home.path() / "work/run.sh", "#!/bin/sh\n");
  std::filesystem::permissions(home.path() / "work/run.sh", std::filesystem::perms::owner_all);
  write_file(home.path() / "work/data", "x");
  const auto code_of = [&](const char* directory, const char* program) {
    return run_agent(home, {"facts", "--workdir", directory, "--program", program}).status;
  };
  CHECK(code_of("work", "./run.sh").ok());
  CHECK(code_of("", "work/run.sh").ok());
  CHECK(code_of("work", "anything-in-the-path").ok());
  CHECK(code_of("none", "true").code == 127);
  CHECK(code_of("work", "./none").code == 127);
  CHECK(code_of("work", "./data").code == 126);
  CHECK(code_of("work", "/").code == 126);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
