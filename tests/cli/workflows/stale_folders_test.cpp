#include "cli/workflows/stale_folders.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fastgpu::cli {
namespace {

using agent::JobFolder;

constexpr std::int64_t kNodeSecond = 1'000'000'000;
constexpr agent::JobRetention kAll{.count = 50, .age = std::chrono::hours(24)};

/// A node with folders, of which the first has ended last; "train-1+" has not ended.
agent::JobFolders node_with(const std::vector<std::string>& names) {
  agent::JobFolders out{.now = 1'000 * kNodeSecond};
  std::int64_t ended = 999 * kNodeSecond;
  for (const std::string& name : names) {
    if (name.ends_with('+'))
      out.folders.push_back({.name = name.substr(0, name.size() - 1)});
    else
      out.folders.push_back({.name = name, .ended = ended});
    ended -= kNodeSecond;
  }
  return out;
}

std::string names_of(const std::vector<JobFolder>& folders) {
  std::string text;
  for (const JobFolder& folder : folders)
    text += (text.empty() ? "" : " ") + folder.name;
  return text;
}

TEST_SUITE_BEGIN("cli/stale_folders");

TEST_CASE(
    "folders of ended jobs that are in no record are stale, and those of known jobs are not") {
  const auto stale = stale_folders(node_with({"train-1", "train-2", "train-3.r2", "train-4.r1"}),
                                   {.all = {"train-1", "train-3"}, .running = {}}, kAll);
  CHECK(names_of(stale.of_no_job) == "train-2 train-4.r1");
  CHECK(stale.outdated.empty());
}

TEST_CASE("nothing of a job that runs is stale, here or elsewhere") {
  // It runs here, although it is in no record.
  auto stale = stale_folders(node_with({"train-1+", "train-2"}), {}, kAll);
  CHECK(names_of(stale.of_no_job) == "train-2");
  // Its ranks here have ended, and others run.
  const KnownJobs known{.all = {"train-1", "train-2"}, .running = {"train-1"}};
  stale = stale_folders(node_with({"train-1", "train-2"}), known, {.count = 0, .age = {}});
  CHECK(names_of(stale.outdated) == "train-2");
  // An earlier run of a job that was started again.
  stale = stale_folders(node_with({"train-1.r1+", "train-1"}), known, {.count = 0, .age = {}});
  CHECK(stale.of_no_job.empty());
  CHECK(stale.outdated.empty());
}

TEST_CASE("an array counts as one job: all of it stays while one of its jobs runs") {
  const std::vector<std::string> names = {"sweep-1.1", "sweep-1.2+", "sweep-1.3.r1"};
  const KnownJobs known{.all = {"sweep-1.1", "sweep-1.2"}, .running = {"sweep-1.2"}};
  const auto stale = stale_folders(node_with(names), known, {.count = 0, .age = {}});
  CHECK(stale.of_no_job.empty());
  CHECK(stale.outdated.empty());
}

TEST_CASE("of known jobs the newest stay, and arrays count as one") {
  const KnownJobs known{.all = {"a-1", "sweep-1.1", "sweep-1.2", "b-1", "c-1"}, .running = {}};
  const auto node = node_with({"a-1", "sweep-1.1", "deleted-1", "sweep-1.2", "b-1", "c-1"});
  const auto stale = stale_folders(node, known, {.count = 2, .age = std::chrono::hours(1)});
  CHECK(names_of(stale.outdated) == "b-1 c-1");
  CHECK(names_of(stale.of_no_job) == "deleted-1");
  // Folders of jobs that ended more than two seconds ago go, too.
  const auto old = stale_folders(node, known, {.count = 50, .age = std::chrono::seconds(2)});
  CHECK(names_of(old.outdated) == "sweep-1.2 b-1 c-1");
}

TEST_CASE("folders and words for their removal arrive as they were sent") {
  const auto node = node_with({"train-1", "train-2+"});
  const auto read = agent::parse_job_folders(agent::to_text(node));
  CHECK(read.now == node.now);
  CHECK(read.folders == node.folders);
  CHECK(agent::parse_discard_word(agent::discard_word(node.folders[0])) == node.folders[0]);
  for (const char* wrong : {"", "train-1", ":5", "train-1:", "train-1:x"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(agent::parse_discard_word(wrong), Error);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
