// The timelines that ranks have written, as a real agent reads their ends.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/protocol/samples.hpp"
#include "agent/protocol/trace_end.hpp"
#include "support/agent_job.hpp"

namespace fastgpu::agent {
namespace {

using test::AgentJob;
using test::kTwoRanks;
using test::run_agent;

/// A job of two ranks that has ended, whose ranks have written "0123456789" as their timelines.
class TracedJob {
 public:
  TracedJob() {
    job.variables = {"FASTGPU_COMM_TIMELINE=" + folder().string()};
    std::filesystem::create_directories(folder());
    REQUIRE(job.start().status.ok());
    test::follow(job.home, {"job"});
  }

  std::filesystem::path folder() const { return job.home.path() / "t"; }

  std::vector<TraceEnd> read(std::vector<std::string> words) const {
    words.insert(words.begin(), {"job-traces", "job"});
    const process::Captured answer = run_agent(job.home, words);
    CHECK(answer.status.ok());
    return parse_trace_ends(answer.out);
  }

  AgentJob job{kTwoRanks, "printf 0123456789 >\"$FASTGPU_COMM_TIMELINE/rank-$RANK.json\"", {0, 1}};
};

TEST_SUITE_BEGIN("agent/job_traces");

TEST_CASE("the end of each timeline that is asked for is read, with the size of its file") {
  const TracedJob traced;
  CHECK(traced.read({"4", "0", "1"}) == std::vector<TraceEnd>{{0, 10, "6789"}, {1, 10, "6789"}});
  CHECK(traced.read({"100", "1"}) == std::vector<TraceEnd>{{1, 10, "0123456789"}});
  CHECK(traced.read({"100", "7"}).empty());
  CHECK(traced.read({"100"}).empty());
}

TEST_CASE("what is no file is left out, and a pipe does not hold the agent") {
  const TracedJob traced;
  const auto path = traced.folder() / "rank-0.json";
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(traced.read({"100", "0", "1"}).size() == 1);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(traced.folder() / "rank-1.json", path);
  CHECK(traced.read({"100", "0", "1"}).size() == 1);
}

TEST_CASE("a file that is older than the job is not of it") {
  const TracedJob traced;
  const auto path = traced.folder() / "rank-0.json";
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(traced.read({"100", "0", "1"}).size() == 1);
}

TEST_CASE("words that are no numbers are refused, and so is a job that is not there") {
  const TracedJob traced;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"job-traces"},
                                                {"job-traces", "job"},
                                                {"job-traces", "job", "x"},
                                                {"job-traces", "job", "4", "y"},
                                                {"job-traces", "other", "4", "0"}})
    CHECK_FALSE(run_agent(traced.job.home, words).status.ok());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
