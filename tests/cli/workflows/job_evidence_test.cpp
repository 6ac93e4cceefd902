#include "cli/workflows/job_evidence.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/commands/job/report_page.hpp"

namespace fastgpu::cli {
namespace {

using state::NodeState;

state::Node node_in(const std::string& name, NodeState state) {
  return {.name = {name}, .state = state};
}

const std::vector<launcher::NodeRanks> kPlaces = {
    {{"demo-0"}, 0, 1}, {{"demo-1"}, 1, 1}, {{"demo-2"}, 2, 1}};

/// The evidence of a job whose rank 1 has failed, before any node is asked.
JobEvidence unasked_job() {
  JobEvidence evidence;
  evidence.record.placement = kPlaces;
  evidence.record.failure = state::FirstFailure{
      .rank = 1, .node = {"demo-1"}, .exit_code = 3, .last_lines = {"no data", "give up"}};
  for (const launcher::NodeRanks& ranks : kPlaces)
    evidence.ranks.push_back({.rank = ranks.first, .node = ranks.node.value});
  return evidence;
}

std::vector<std::string> absent_of(const std::vector<state::Node>& nodes, JobEvidence& evidence) {
  const state::Cluster cluster{.name = {"demo"}};
  std::vector<std::string> names;
  for (const NodeName& name : note_absent_nodes(cluster, nodes, kPlaces, evidence))
    names.push_back(name.value);
  return names;
}

TEST_SUITE_BEGIN("cli/job_evidence");

TEST_CASE("nodes that run are asked, and nothing is missing") {
  JobEvidence evidence;
  CHECK(absent_of({node_in("demo-0", NodeState::running), node_in("demo-1", NodeState::running),
                   node_in("demo-2", NodeState::running)},
                  evidence)
            .empty());
  CHECK(evidence.missing.empty());
}

TEST_CASE("a node that has another machine since the start of the job is not asked") {
  JobEvidence evidence;
  std::vector<launcher::NodeRanks> places = kPlaces;
  places[0].instance_id = "i-1";
  places[1].instance_id = "i-2";
  std::vector<state::Node> nodes;
  for (const auto& [name, instance] :
       {std::pair{"demo-0", "i-1"}, std::pair{"demo-1", "i-9"}, std::pair{"demo-2", "i-3"}}) {
    nodes.push_back(node_in(name, NodeState::running));
    nodes.back().instance_id = instance;
  }
  CHECK(note_absent_nodes({.name = {"demo"}}, nodes, places, evidence) ==
        std::vector<NodeName>{{"demo-1"}});
  CHECK(evidence.missing ==
        std::vector<std::string>{"demo-1 is another machine than the one that the job ran on, and "
                                 "its output went with that"});
}

TEST_CASE("nodes that do not run are not asked, and one sentence names those of a state") {
  JobEvidence evidence;
  CHECK(absent_of({node_in("demo-0", NodeState::stopped), node_in("demo-1", NodeState::stopped),
                   node_in("demo-2", NodeState::lost)},
                  evidence) == std::vector<std::string>{"demo-0", "demo-1", "demo-2"});
  CHECK(evidence.missing ==
        std::vector<std::string>{"demo-[0-1] are stopped: `fastgpu start cluster demo` starts them",
                                 "demo-2 is lost"});
}

TEST_CASE("a node that has left the cluster is not asked") {
  JobEvidence evidence;
  CHECK(absent_of({node_in("demo-0", NodeState::running), node_in("demo-1", NodeState::running)},
                  evidence) == std::vector<std::string>{"demo-2"});
  CHECK(evidence.missing == std::vector<std::string>{"demo-2 is no longer in the cluster"});
}

TEST_CASE("the rank that failed first has the end of the record if its node was not asked") {
  JobEvidence evidence = unasked_job();
  add_recorded_ends(evidence);
  CHECK(evidence.ranks[1].has_ended);
  CHECK(evidence.ranks[1].outcome == "exited with 3");
  CHECK(evidence.ranks[1].exit_code == 3);
  CHECK(evidence.ranks[1].err == "no data\ngive up\n");
  CHECK_FALSE(evidence.ranks[0].has_ended);
}

TEST_CASE("a signal in the record ends its rank by its name") {
  JobEvidence evidence = unasked_job();
  evidence.record.failure->exit_code = 139;
  evidence.record.failure->signal = "SIGSEGV";
  add_recorded_ends(evidence);
  CHECK(evidence.ranks[1].outcome == "killed by SIGSEGV");
  CHECK(evidence.ranks[1].exit_code == 139);
}

TEST_CASE("the report of a node goes before the record") {
  JobEvidence evidence = unasked_job();
  evidence.ranks[1].has_ended = true;
  evidence.ranks[1].outcome = "exited with 9";
  add_recorded_ends(evidence);
  CHECK(evidence.ranks[1].outcome == "exited with 9");
  CHECK(evidence.ranks[1].err.empty());
}

TEST_CASE("all ranks of a job that has succeeded exited with 0") {
  JobEvidence evidence = unasked_job();
  evidence.record.failure.reset();
  evidence.job.state = state::JobState::succeeded;
  evidence.ranks[1].has_ended = true;
  evidence.ranks[1].outcome = "exited with 0, late";
  add_recorded_ends(evidence);
  CHECK(evidence.ranks[0].has_ended);
  CHECK(evidence.ranks[0].exit_code == 0);
  CHECK(evidence.ranks[0].outcome == "exited with 0");
  CHECK(evidence.ranks[1].outcome == "exited with 0, late");
}

TEST_CASE("a report has no time for an end that the record alone knows") {
  JobEvidence evidence = unasked_job();
  evidence.job = {.id = "train-1", .record = evidence.record};
  evidence.job.created = evidence.job.ended.emplace(std::chrono::seconds(1'700'000'000));
  add_recorded_ends(evidence);
  const View view = report_view(evidence, *evidence.job.ended);
  CHECK(view.root["ranks"][1]["exit_code"] == 3);
  CHECK(view.root["ranks"][1]["ended"].is_null());
  CHECK(view.page.find("1970") == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
