#include "launcher/process_names.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {
namespace {

const std::vector<NodeRanks> kOfRanks = {{{"demo-0"}, 0, 2}, {{"demo-1"}, 2, 1}};
const std::vector<NodeRanks> kOfTorchrun = {
    {.node = {"demo-0"}, .first = 0, .count = 1, .workers = 2},
    {.node = {"demo-1"}, .first = 1, .count = 1, .workers = 1}};

TEST_SUITE_BEGIN("launcher/process_names");

TEST_CASE("a process is named by its rank, and a torchrun by its node") {
  CHECK_FALSE(is_of_torchrun(kOfRanks));
  CHECK(process_on_node(kOfRanks, 2) == "rank 2 on demo-1");
  CHECK(processes_text(kOfRanks, {1}) == "rank 1");
  CHECK(processes_text(kOfRanks, {0, 1, 2}) == "ranks 0-2");
  CHECK(size_text(kOfRanks) == "3 ranks");
  CHECK(ranks_of_node(kOfRanks, 0) == "0-1");
  CHECK(ranks_of_node(kOfRanks, 1) == "2");

  CHECK(is_of_torchrun(kOfTorchrun));
  CHECK(process_on_node(kOfTorchrun, 1) == "torchrun on demo-1");
  CHECK(processes_text(kOfTorchrun, {0, 1}) == "torchrun on demo-0, demo-1");
  CHECK(size_text(kOfTorchrun) == "3 workers");
  CHECK(ranks_of_node(kOfTorchrun, 0) == "0-1");
  CHECK(ranks_of_node(kOfTorchrun, 1) == "2");
}

TEST_CASE("a torchrun that fails or hangs is not called a rank") {
  agent::RankEnd end;
  end.rank = 1;
  end.how.code = 1;
  JobReport seen;
  seen.placement = kOfTorchrun;
  seen.ranks = {end};
  seen.launcher = agent::JobEnd{};
  seen.launcher->how.code = 1;
  const JobOutcome failed = decide(seen);
  CHECK(failed.reason == "torchrun on demo-1: exited with 1");
  CHECK(failed.exit_code == 1);

  seen.hanging = {0, 1};
  seen.hang_timeout = std::chrono::minutes(10);
  CHECK(decide(seen).reason ==
        "torchrun on demo-0, demo-1 hung: no output, processor time or traffic for 10m");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
