#include "launcher/found_job.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;

/// A node with ranks of a job of three, as it tells of them.
NodeWithJob part(const std::string& node, std::vector<int> ranks) {
  agent::FoundJob job;
  job.ranks.id = "train-3";
  job.ranks.argv = {"./train", "--lr", "0.1"};
  job.ranks.directory = "work";
  job.ranks.grace = 5s;
  job.ranks.ranks = std::move(ranks);
  job.ranks.world_size = 3;
  job.is_head = job.ranks.ranks.front() == 0;
  job.timeout = job.is_head ? 60s : 0s;
  return {.node = {node}, .job = agent::parse_found_job(to_text(job))};
}

TEST_SUITE_BEGIN("launcher/found_job");

TEST_CASE("the parts of a job make the record that its own machine has") {
  const std::vector<NodeWithJob> nodes = {part("n-2", {2}), {.node = {"n-1"}}, part("n-0", {0, 1})};
  const JobRecord record = record_of_found("train-3", nodes);
  CHECK(record.spec.name.value == "train");
  CHECK(record.spec.argv == std::vector<std::string>{"./train", "--lr", "0.1"});
  CHECK(record.spec.directory == "work");
  CHECK(record.spec.grace == 5s);
  CHECK(record.spec.timeout == 60s);
  CHECK(record.spec.presence == Presence::detached);
  CHECK(record.spec.launcher == Launcher::mpirun);
  CHECK(record.restarts == 0);
  REQUIRE(record.placement.size() == 2);
  CHECK(record.placement[0].node.value == "n-0");
  CHECK(record.placement[0].count == 2);
  CHECK(record.placement[1].node.value == "n-2");
  CHECK(record.placement[1].first == 2);
}

TEST_CASE("of a job that was started again the last run counts, where its nodes have it") {
  std::vector<NodeWithJob> nodes = {part("n-0", {0, 1}), part("n-1", {2}), part("n-2", {2})};
  nodes[0].job->restarts = nodes[2].job->restarts = 2;
  nodes[0].job->is_plain = true;
  const JobRecord record = record_of_found("sweep-1.7", nodes);
  CHECK(record.restarts == 2);
  CHECK(record.placement.back().node.value == "n-2");
  CHECK(record.spec.name.value == "sweep");
  CHECK(record.spec.launcher == Launcher::plain);
}

TEST_CASE("a job that is not whole is refused with what is missing") {
  const auto refusal = [](const std::vector<NodeWithJob>& nodes) {
    return std::string(test::failure_of([&] { record_of_found("train-3", nodes); }).what());
  };
  CHECK(refusal({}) == "no node has a job 'train-3'");
  CHECK(refusal({{.node = {"n-0"}}}) == "no node has a job 'train-3'");
  CHECK(refusal({part("n-0", {0, 1})}) == "job train-3: rank 2 of 3 is on no node of the cluster");
  CHECK(refusal({part("n-1", {2})}) == "job train-3: rank 0 is on no node of the cluster");
  CHECK(refusal({part("n-0", {0, 1}), part("n-1", {1, 2})}) ==
        "job train-3: rank 2 is on no node of the cluster");
  std::vector<NodeWithJob> headless = {part("n-0", {0, 1, 2})};
  headless[0].job->is_head = false;
  CHECK(refusal(headless) == "job train-3: n-0 has rank 0, and not the supervisor");
  headless[0].job->ranks.ranks.clear();
  CHECK(refusal(headless) == "job train-3: n-0 has no ranks of it");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
