#include "launcher/job_launch.hpp"

#include <algorithm>
#include <utility>

#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"
#include "launcher/engines/rank_table.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/job_files.hpp"
#include "launcher/reach.hpp"
#include "launcher/start_answers.hpp"

namespace fastgpu::launcher {
namespace {

std::vector<RankTableNode> rank_table_nodes(const JobFilesRequest& request,
                                            std::span<const agent::JobNodeFacts> facts) {
  std::vector<RankTableNode> nodes;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const JobNode& member = request.nodes[i];
    nodes.push_back({.name = member.ranks.node,
                     .address = member.peer.address,
                     .npus = facts[i].npus,
                     .ranks = member.ranks.count * std::max(1, member.ranks.workers)});
  }
  return nodes;
}

}  // namespace

JobLaunch::JobLaunch(ssh::Client& client, const ClusterNodes& nodes, const RunnerOptions& options,
                     const JobFilesRequest& request)
    : client_(client),
      nodes_(nodes),
      options_(options),
      request_(request),
      commands_(options.agent.hash, request.id) {}

const ssh::Host& JobLaunch::host_of(const JobNode& member) const {
  return nodes_.at(member.ranks.node).host;
}

std::vector<NodeAnswer> JobLaunch::put_first_files(agent::FolderPlace place, const Cancel& cancel) {
  std::vector<NodeTask> tasks;
  for (const JobNode& member : request_.nodes)
    tasks.push_back(
        {.host = host_of(member),
         .command = commands_.put_new_files_and_facts(request_.spec, options_.retention, place),
         .input = encode_files(rank_files(request_, member))});
  return ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel);
}

std::vector<agent::JobNodeFacts> JobLaunch::prepare(const Cancel& cancel) {
  auto answers = put_first_files(agent::FolderPlace::usual, cancel);
  if (share_home(answers)) {  // Later jobs know it from the beginning.
    remove_files(prepared_nodes(answers));
    answers = put_first_files(agent::FolderPlace::own_disk, cancel);
  }
  const auto taken = node_with_same_id(answers);
  std::vector<NodeName> silent = silent_nodes(answers);
  if (taken || !silent.empty()) remove_files(prepared_nodes(answers));
  if (taken)
    throw JobIdTaken("node " + taken->value + " has a job " + request_.id +
                     " of another machine or state directory");
  try {
    check(answers, "preparing job " + request_.id);
  } catch (const Error& e) {
    if (silent.empty()) throw;
    throw NodesSilent(e, std::move(silent));
  }
  return facts_in(answers);
}

void JobLaunch::remove_files(std::span<const NodeName> from) {
  std::vector<NodeTask> tasks;
  for (const NodeName& node : from)
    tasks.push_back({.host = nodes_.at(node).host, .command = commands_.remove()});
  const Cancel never;
  ask(client_, tasks, kStartTimeout, never);
}

std::string JobLaunch::put_rank_table(std::span<const agent::JobNodeFacts> facts,
                                      const Cancel& cancel) {
  const auto has_npus = [](const agent::JobNodeFacts& node) { return !node.npus.empty(); };
  if (std::ranges::none_of(facts, has_npus)) return {};
  std::string table;
  try {
    table = rank_table(rank_table_nodes(request_, facts));
  } catch (const Error& e) {
    return "there is no rank table for HCCL: " + std::string(e.what());
  }
  const agent::SmallFile file{"jobs/" + request_.id + "/" + agent::kRankTable, table};
  std::vector<NodeTask> tasks;
  for (const JobNode& member : request_.nodes)
    tasks.push_back({.host = host_of(member),
                     .command = commands_.put_files_and_facts("", options_.retention),
                     .input = agent::encode_files({file})});
  check(ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel),
        "writing the rank table of job " + request_.id);
  return {};
}

void JobLaunch::start(std::span<const agent::JobNodeFacts> facts, const Cancel& cancel) {
  std::vector<ReachRequest> questions;
  if (options_.network_check == NetworkCheck::on) questions = reach_requests(request_, facts);
  // The first node tries its network in the command that starts the job.
  if (questions.empty() || questions.front().place != 0)
    questions.insert(questions.begin(), ReachRequest{});
  std::vector<NodeTask> tasks;
  for (const ReachRequest& asked : questions)
    tasks.push_back({.host = host_of(request_.nodes[asked.place]),
                     .command = asked.place == 0 ? commands_.put_files_and_start(asked.words)
                                                 : commands_.reach(asked.words)});
  tasks.front().input = encode_files(start_files(request_, facts, commands_));
  auto answers = ask(client_, tasks, kStartTimeout, cancel);
  // A node that becomes silent while it tries the others has its ranks by then. The command that
  // follows the job reports it.
  for (std::size_t i = 1; i < answers.size(); ++i)
    if (is_silent(answers[i])) answers[i] = {.result = {answers[i].result.host, ssh::Exit{}}};
  check(answers, "starting job " + request_.id);
  std::vector<ReachAnswer> reached;
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (!questions[i].words.empty())
      reached.push_back({.place = questions[i].place, .text = answers[i].out});
  check_reach(request_, facts, reached);
}

}  // namespace fastgpu::launcher
