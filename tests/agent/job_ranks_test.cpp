// Ranks of a real agent: their variables and place, their end, and the report of it.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/facts.hpp"
#include "agent/protocol/files.hpp"
#include "support/agent_job.hpp"

namespace fastgpu::agent {
namespace {

using test::AgentJob;
using test::eventually;
using test::follow;
using test::Followed;
using test::kOneRank;
using test::kTwoRanks;
using test::read_text;
using test::run_agent;
using test::running;
using test::ScratchHome;
using test::write_file;

TEST_SUITE_BEGIN("agent/job_ranks");

TEST_CASE("a rank knows who it is, and gets its variables from the file") {
  AgentJob job(kOneRank, "echo \"$FASTGPU_RANK $FASTGPU_JOB_ID $SECRET\"; pwd");
  job.variables = {"SECRET=a b\n$c"};
  job.rank.directory = "job/ranks";
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") ==
        "0 " + job.spec.id + " a b\n$c\n" + (job.directory() / "ranks").string() + "\n");
}

TEST_CASE("a rank may lock as much memory as its node allows, whatever its soft limit is") {
  AgentJob job("ulimit -S -l 8 && ulimit -H -l 64 && " + kOneRank, "ulimit -S -l");
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
  AgentJob job(launcher, program);
  const auto file = job.directory() / "comm-secret";
  write_file(file, "hush");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") == "none " + file.string() + "\nhush");
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a secret among the job's own variables reaches its ranks") {
  AgentJob job(kOneRank, "echo \"$FASTGPU_COMM_SECRET\"");
  job.variables = {"FASTGPU_COMM_SECRET=mine"};
  write_file(job.directory() / "comm-secret", "hush");
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("0.out") == "mine\n");
}

TEST_CASE("a rank finds its place under the names that training scripts read") {
  AgentJob job(
      "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_SIZE=2 "
      "exec \"$AGENT\" rank job",
      "echo \"$RANK/$WORLD_SIZE $LOCAL_RANK $FASTGPU_RANK/$FASTGPU_WORLD_SIZE\"", {1});
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("1.out") == "1/2 1 1/2\n");
}

TEST_CASE("every port that a job asks for is another") {
  AgentJob job("echo $A $B $C");
  job.spec.port_variables = {"A", "B", "C"};
  CHECK(job.start().status.ok());
  std::istringstream said(follow(job.home, {"job"}).logs.at("launcher.out"));
  const std::set<int> ports{std::istream_iterator<int>(said), {}};
  CHECK(ports.size() == 3);
  for (const int port : ports)
    CHECK(port >= 20'000);
}

TEST_CASE("a job's variables are on the disk for no longer than its ranks run") {
  AgentJob job(kTwoRanks,
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

TEST_CASE("a program that does not exist is named with its node") {
  AgentJob job(kOneRank);
  job.rank.argv = {"no-such-program", "x"};
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).how.code == 127);
  CHECK(seen.ranks.at(0).reason == "no-such-program: No such file or directory");
  CHECK(seen.logs.at("0.err").find(": no-such-program: No such file or directory\n") !=
        std::string::npos);
}

TEST_CASE("a rank that a signal ends says which") {
  AgentJob job(kOneRank, "kill -SEGV $$");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  CHECK(seen.ranks.at(0).how.signal == SIGSEGV);
  CHECK(seen.job.at(0).how.code == 139);
}

TEST_CASE("a rank that is told to stop says so, also where it ignores SIGTERM") {
  AgentJob job(
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
  AgentJob job(
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
  AgentJob job(
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
  AgentJob job("", "trap 'echo saved; exit 5' TERM; echo ready; while :; do sleep 0.01; done");
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
    AgentJob job(into + kOneRank, "exec tail /dev/zero");
    CHECK(job.start().status.ok());
    const Followed seen = follow(job.home, {"job"});
    CHECK(seen.ranks.at(0).how.signal == SIGKILL);
    CHECK(seen.ranks.at(0).out_of_memory);
  }
  AgentJob job(into + kOneRank, "kill -KILL $$");
  CHECK(job.start().status.ok());
  CHECK_FALSE(follow(job.home, {"job"}).ranks.at(0).out_of_memory);
}

TEST_CASE("the last lines of a rank that fails by itself are in its report, without secrets") {
  AgentJob job(kOneRank, "echo $MINE $API_KEY; printf '\\377\\n'; echo no such file >&2; exit 3");
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
  AgentJob bad(kOneRank, flood + "exit 3");
  CHECK(bad.start().status.ok());
  const RankEnd end = follow(bad.home, {"job"}).ranks.at(0);
  CHECK(end.how.code == 3);
  REQUIRE(end.last_lines.size() >= 5);
  CHECK(end.last_lines.back() == std::string(kLongestLastLine, 'x'));
  AgentJob good(kOneRank, flood);
  CHECK(good.start().status.ok());
  CHECK(follow(good.home, {"job"}).ranks.at(0).last_lines.empty());
}

TEST_CASE("a rank's program does not outlive a killed agent") {
  AgentJob job("", "sleep 4715.1");
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

TEST_CASE(
    "what mpirun starts on another node has the job's marker and the paths of a login, in whatever "
    "language") {
  const ScratchHome home;
  write_file(home.path() / "ssh",
             "#!/bin/sh\nfor word; do line=$word; done\nexec env -i \"PATH=/one:$PATH\" \"$BY\" "
             "-fc \"$line\"\n");
  std::filesystem::permissions(home.path() / "ssh", std::filesystem::perms::owner_all);
  for (const auto& [shell, line] : {std::pair("sh", "printenv FASTGPU_JOB_ID FASTGPU_LOGIN_PATH"),
                                    std::pair("tcsh",
                                              "setenv A b; printenv FASTGPU_JOB_ID; "
                                              "printenv FASTGPU_LOGIN_PATH")}) {
    process::Command command =
        test::agent_command(home, {"rsh", "-x", "-F", "config", "node-1", line});
    process::set_variable(*command.environment, std::string("BY=") + shell);
    process::set_variable(*command.environment, "FASTGPU_JOB_ID=train-1");
    process::set_variable(*command.environment,
                          "PATH=" + home.path().string() + ":" + ::getenv("PATH"));
    const auto answer = process::capture(command, {}, Cancel());
    if (answer.status.code == 127) continue;  // There is no tcsh here.
    CHECK_MESSAGE(answer.out.starts_with("train-1\n/one:"), answer.err);
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

TEST_CASE("a rank in Slurm finds the ranks of its node, its ports, and all workers of TensorFlow") {
  AgentJob job(
      "SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NTASKS=3 SLURM_STEP_TASKS_PER_NODE=2,1 "
      "SLURM_JOB_ID=10 NODE_RANK=1 LOCAL_WORLD_SIZE=2 FASTGPU_NODE_IPS='a b' MASTER_PORT=7 exec "
      "\"$AGENT\" rank job",
      "echo \"$RANK $LOCAL_WORLD_SIZE $MASTER_PORT $FASTGPU_COMM_MASTER_PORT $TF_CONFIG\"");
  job.rank.ranks = {0, 1, 2};
  CHECK(job.start().status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("2.out") ==
        "2 1 20030 20032 "
        "{\"cluster\":{\"worker\":[\"a:20030\",\"a:20031\",\"b:20030\"]},\"task\":{\"type\":"
        "\"worker\",\"index\":2}}\n");
}

TEST_CASE("TF_CONFIG of a node's startup files does not count, and that of the job does") {
  for (const std::string own : {"", "TF_CONFIG=mine"}) {
    AgentJob job(
        "TF_CONFIG=of-this-node SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=2 "
        "SLURM_STEP_TASKS_PER_NODE=2 SLURM_JOB_ID=10 NODE_RANK=0 FASTGPU_NODE_IPS=a exec "
        "\"$AGENT\" rank job",
        "echo \"$TF_CONFIG\"");
    job.rank.ranks = {0, 1};
    if (!own.empty()) job.variables = {own};
    CHECK(job.start().status.ok());
    const std::string said = follow(job.home, {"job"}).logs.at("0.out");
    CHECK_MESSAGE((own.empty() ? said.starts_with("{\"cluster\":") : said == "mine\n"), said);
  }
}

const std::string kRankInSlurm =
    "SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NTASKS=3 SLURM_STEP_TASKS_PER_NODE=2,1 SLURM_JOB_ID=10 "
    "NODE_RANK=1 \"$AGENT\" rank ";

TEST_CASE("the last rank of a node in Slurm leaves the variables in a home that others share") {
  AgentJob job(kRankInSlurm + "job; [ -e job/variables ] && touch job/kept; true");
  job.variables = {"TOKEN=secret"};
  job.rank.ranks = {0, 1, 2};
  CHECK(job.start().status.ok());
  follow(job.home, {"job"});
  CHECK(std::filesystem::exists(job.directory() / "kept"));
}

TEST_CASE("a rank with a home of its own gets the files of its job from the batch script") {
  struct Case {
    std::string program;
    std::string news;
  };
  for (const Case& one : {Case{"[ \"$TOKEN\" = secret ]", ""}, Case{"echo $TOKEN", "output\n"},
                          Case{"exit 3", "output\n"}}) {
    CAPTURE(one.program);
    AgentJob job("true");
    JobPlan plan = job.rank;
    plan.id = "there-1";
    plan.argv = {"sh", "-c", one.program};
    plan.ranks = {0, 1, 2};
    const std::string place = "jobs/there-1/";
    write_file(job.home.path() / "script",
               "#!/bin/sh\nexit 0\n" +
                   carried_files({{place + "rank", to_text(plan)},
                                  {place + kVariables, variables_text({"TOKEN=secret"})}}));
    job.spec.argv.back() =
        kRankInSlurm + ".fastgpu/jobs/there-1 --own-home 9:99 < script > news; true";
    CHECK(job.start().status.ok());
    follow(job.home, {"job"});
    CHECK(read_text(job.home.path() / "news") == one.news);
    const auto directory = job.home.path() / ".fastgpu/jobs/there-1";
    CHECK(std::filesystem::exists(directory / "ranks/2.status"));
    CHECK_FALSE(std::filesystem::exists(directory / "variables"));
  }
}

TEST_CASE("facts say why the torchrun in PATH cannot start, if no other one is there") {
  const ScratchHome home;
  const auto bin = home.path() / "bin";
  const auto others = home.path() / "others";
  for (const auto& directory : {bin, others})
    std::filesystem::create_directory(directory);
  const auto put = [](const std::filesystem::path& file, const char* text) {
    write_file(file, text);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  };
  const std::string path = bin.string() + ":" + others.string();
  const auto found = [&] {
    return parse_node_facts(run_agent(home, {"facts", "--torchrun-path", path.c_str()}).out);
  };
  CHECK_FALSE(found().has_torchrun);
  put(bin / "torchrun", "#!/old/venv/bin/python3\n");
  CHECK(found().has_torchrun);
  CHECK(found().torchrun_obstacle ==
        (bin / "torchrun").string() +
            ": its interpreter /old/venv/bin/python3 (in its first line) does not exist");
  put(others / "torchrun", "#!/bin/sh\n");
  CHECK(found().torchrun_obstacle.empty());
}

TEST_CASE("facts tell why an interpreter that the user names cannot run torchrun") {
  const ScratchHome home;
  const auto script = [&](const char* name, const char* text) {
    write_file(home.path() / name, text);
    std::filesystem::permissions(home.path() / name, std::filesystem::perms::owner_all);
    return (home.path() / name).string();
  };
  const auto found = [&](const std::string& python) {
    const std::string path = home.path().string() + ":/usr/bin:/bin";
    return parse_node_facts(run_agent(home, {"facts", "--torchrun-path", path.c_str(),
                                             "--torchrun-python", python.c_str()})
                                .out)
        .torchrun_obstacle;
  };
  const std::string with = script("python3.99", "#!/bin/sh\nexit 0\n");
  CHECK(found(with).empty());
  CHECK(found("python3.99").empty());
  CHECK(found(script("bare", "#!/bin/sh\nexit 1\n")) == "has no PyTorch");
  CHECK(found("/none/bin/python") == "does not exist");
  CHECK(found("python3.98") == "does not exist");
  write_file(home.path() / "data", "x");
  CHECK(found((home.path() / "data").string()) == "cannot be run");
  const auto plain = run_agent(home, {"facts", "--torchrun-path", home.path().c_str()});
  CHECK_FALSE(parse_node_facts(plain.out).has_torchrun);
  script("torchrun", "#!/bin/sh\n");
  const auto there = run_agent(home, {"facts", "--torchrun-path", home.path().c_str()});
  CHECK(parse_node_facts(there.out).has_torchrun);
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
  const auto file = run_agent(home, {"facts", "--workdir", "work/data", "--program", "true"});
  CHECK(file.status.code == 127);
  CHECK(file.err.ends_with("work/data is not a directory\n"));
  CHECK(run_agent(home, {"facts", "--in-path", "sh"}).status.ok());
  const auto lacking = run_agent(home, {"facts", "--in-path", "nosuchprog"});
  CHECK(lacking.status.code == 127);
  CHECK(lacking.err == "nosuchprog: No such file or directory\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
