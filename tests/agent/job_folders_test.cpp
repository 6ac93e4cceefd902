// The folders of jobs on a node, as a real agent lists and removes them.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/protocol/job_folder.hpp"
#include "agent/protocol/plan.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using test::run_agent;
using test::write_file;

/// A home directory with folders of jobs.
class Node {
 public:
  /// Makes the folder of a job that has ended.
  void add(const std::string& name, const std::string& owner) {
    JobPlan plan;
    plan.id = name;
    write_file(folder(name) / "rank", to_text(plan));
    write_file(folder(name) / "status", "");
    if (!owner.empty()) write_file(folder(name) / kJobOwner, owner);
  }
  fs::path folder(const std::string& name) const { return home.path() / ".fastgpu/jobs" / name; }

  std::vector<JobFolder> list(const std::string& owner) const {
    const process::Captured answer = run_agent(home, {"job-folders", owner});
    REQUIRE(answer.status.ok());
    return parse_job_folders(answer.out).folders;
  }
  bool discard(const std::string& owner, const std::vector<JobFolder>& folders) const {
    std::vector<std::string> words = {"job-discard", owner};
    for (const JobFolder& one : folders)
      words.push_back(discard_word(one));
    return run_agent(home, words).status.ok();
  }

  test::ScratchHome home;
};

TEST_SUITE_BEGIN("agent/job_folders");

TEST_CASE("the folders of one state directory are listed, and those of others are not") {
  Node node;
  CHECK(node.list("me").empty());
  node.add("mine-1", "me");
  node.add("theirs-1", "they");
  node.add("older-1", "");
  fs::create_directories(node.folder("empty"));
  const auto found = node.list("me");
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "mine-1");
  CHECK(found[0].ended);
}

TEST_CASE("a job that may be about to start has no end") {
  Node node;
  node.add("mine-1", "me");
  fs::remove(node.folder("mine-1") / "status");
  const auto found = node.list("me");
  REQUIRE(found.size() == 1);
  CHECK_FALSE(found[0].ended);
  CHECK(node.discard("me", {{"mine-1", 0}}));
  CHECK(fs::exists(node.folder("mine-1")));
}

TEST_CASE("what is named is removed, if it is of that state directory and has the same end") {
  Node node;
  for (const char* name : {"mine-1", "mine-2", "mine-3"})
    node.add(name, "me");
  node.add("theirs-1", "they");
  const auto mine = node.list("me");
  REQUIRE(mine.size() == 3);
  std::vector<JobFolder> words = {{"mine-1", {}}, {"mine-2", 5}, {"theirs-1", {}}, {"../..", 1}};
  for (const JobFolder& one : mine)
    if (one.name == "mine-1") words[0] = one;
  words[2].ended = node.list("they")[0].ended;
  CHECK(node.discard("me", words));
  CHECK_FALSE(fs::exists(node.folder("mine-1")));
  CHECK(fs::exists(node.folder("mine-2")));
  CHECK(fs::exists(node.folder("mine-3")));
  CHECK(fs::exists(node.folder("theirs-1")));
  CHECK(fs::exists(node.home.path()));
}

TEST_CASE("an empty owner and wrong words are refused") {
  const Node node;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"job-folders"},
                                                {"job-folders", ""},
                                                {"job-folders", "a", "b"},
                                                {"job-discard"},
                                                {"job-discard", "me", "mine-1"},
                                                {"job-discard", "", "mine-1:5"}})
    CHECK_FALSE(run_agent(node.home, words).status.ok());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
