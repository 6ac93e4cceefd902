// A job of one node by a real agent, for tests.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "agent/protocol/plan.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::test {

/// A job of one node: its launcher runs `launcher`, each `agent rank` runs `program`.
class AgentJob {
 public:
  explicit AgentJob(std::string launcher, std::string program = "true",
                    std::vector<int> ranks = {0}) {
    spec.argv = {"sh", "-c", std::move(launcher)};
    rank.argv = {"sh", "-c", std::move(program)};
    rank.ranks = std::move(ranks);
    spec.id = rank.id = "job-" + home.path().filename().string();
    spec.grace = rank.grace = std::chrono::milliseconds(800);
    spec.environment = {"AGENT=" + agent_path()};
  }
  ~AgentJob() { run_agent(home, {"job-stop", "job", "--kill-after", "0"}); }

  void write() const {
    write_file(directory() / "spec", to_text(spec));
    write_ranks();
  }
  void write_ranks() const {
    write_file(directory() / "rank", to_text(rank));
    write_file(directory() / "variables", agent::variables_text(variables));
  }
  process::Captured start() const {
    write();
    return run_agent(home, {"job-start", "job"});
  }
  std::filesystem::path directory() const { return home.path() / "job"; }

  ScratchHome home;
  agent::JobPlan spec, rank;
  std::vector<std::string> variables;
};

inline const std::string kOneRank = "OMPI_COMM_WORLD_RANK=0 exec \"$AGENT\" rank job";
inline const std::string kTwoRanks =
    "OMPI_COMM_WORLD_RANK=0 \"$AGENT\" rank job & OMPI_COMM_WORLD_RANK=1 \"$AGENT\" rank job; wait";

}  // namespace fastgpu::test
