// Jobs on one node by a real agent: their start, status and files.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/files.hpp"
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
using test::ScratchHome;
using test::write_file;

/// Makes everything below `directory` look as if it was last written so long ago.
void age(const std::filesystem::path& directory, std::chrono::seconds since) {
  const auto when = std::filesystem::file_time_type::clock::now() - since;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    std::filesystem::last_write_time(entry.path(), when);
  std::filesystem::last_write_time(directory, when);
}

TEST_SUITE_BEGIN("agent/job");

TEST_CASE("a job outlives the connection that started it and keeps its status") {
  AgentJob job("echo started; echo trouble >&2; exit 3");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].how.code == 3);
  CHECK(seen.job[0].cause == StopCause::none);
  CHECK(seen.logs.at("launcher.out") == "started\n");
  CHECK(seen.logs.at("launcher.err") == "trouble\n");
}

TEST_CASE("a broken pipe does not kill the launcher, but a program of a rank as usual") {
  AgentJob job("kill -PIPE $$; " + kOneRank, "kill -PIPE $$; echo alive");
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].how.code == 128 + SIGPIPE);  // That of the rank, which the launcher became.
  CHECK(seen.logs.count("0.out") == 0);
}

TEST_CASE("starting twice is one start") {
  AgentJob job("echo once; sleep 0.3");
  CHECK(job.start().status.ok());
  CHECK(run_agent(job.home, {"job-start", "job"}).status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("launcher.out") == "once\n");
  CHECK(run_agent(job.home, {"job-start", "job"}).status.ok());
  CHECK(follow(job.home, {"job"}).logs.at("launcher.out") == "once\n");
}

TEST_CASE("a launcher that is not there is a status, not a silence") {
  AgentJob job("");
  job.spec.argv = {"no-such-launcher"};
  CHECK(job.start().status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].how.code == 127);
  CHECK(seen.job[0].reason == "no-such-launcher: No such file or directory");
}

TEST_CASE("a supervisor that was killed is noticed, and its job is not started again") {
  AgentJob job("echo ran; sleep 60");
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

TEST_CASE("a job that was stopped before its start has ended for those who follow it") {
  AgentJob job("true");
  job.write();
  CHECK(run_agent(job.home, {"job-stop", "job"}).status.ok());
  const Followed seen = follow(job.home, {"job"});
  REQUIRE(seen.job.size() == 1);
  CHECK(seen.job[0].cause == StopCause::request);
  CHECK(seen.job[0].how.signal == SIGTERM);
  CHECK(job.start().status.ok());  // A start that comes late does not run it.
  CHECK(follow(job.home, {"job"}).logs.empty());
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
  add("sweep-1.1", "status", 4s);
  add("sweep-1.2", "status", 1s);
  add("sweep-1.2.r1", "status", 3s);
  add("between-1", "status", 2s);
  add("before-1", "status", 5s);
  tidy("2:86400");  // An array is one of the two, and keeps all of its jobs.
  CHECK(eventually([&] { return !left().contains("before-1"); }));
  CHECK(left() == std::set<std::string>{"sweep-1.1", "sweep-1.2", "sweep-1.2.r1", "between-1",
                                        "preparing-1", "link"});
}

TEST_CASE("a job whose supervisor has not begun is no job to those who ask for one that has") {
  AgentJob job(kOneRank, "true");
  job.write();
  const auto ask = [&] {
    return run_agent(job.home, {"job-follow", "job", "--no-follow", "--begun"});
  };
  CHECK(ask().status.code == kNotThere);
  CHECK(job.start().status.ok());
  CHECK(ask().status.ok());
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

TEST_CASE("a job's directory is removed once it has ended, and only such a directory") {
  AgentJob job("sleep 60");
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
