#include "cli/workflows/trace_reading.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/outcome.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/job.hpp"
#include "launcher/job_traces.hpp"
#include "remote/agent.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostOfRank = 512UL << 10U;
constexpr std::size_t kLeastOfRank = 64UL << 10U;
constexpr std::size_t kMostOfAll = 16UL << 20U;
constexpr std::chrono::milliseconds kTimeout{30'000};

void add_answer(const launcher::NodeAnswer& answer, TracesRead& read) {
  const std::string& node = answer.result.host.value;
  const auto ends = attempt([&] { return launcher::trace_ends(answer); });
  if (!ends.ok()) {
    read.missing.push_back("timelines of " + node + ": " + ends.error().what());
    return;
  }
  for (const agent::TraceEnd& end : ends.value()) {
    RankTrace trace = parse_trace(end.text, end.size);
    trace.rank = end.rank;
    trace.node = node;
    read.traces.push_back(std::move(trace));
  }
}

}  // namespace

TracePlan plan_of_traces(std::span<const UsageEvidence> usage) {
  std::map<int, std::size_t> node_of;  // By the rank.
  for (std::size_t i = 0; i < usage.size(); ++i)
    for (const auto& timeline : usage[i].usage.timelines)
      node_of.try_emplace(timeline.rank, i);
  const std::size_t count = std::min(node_of.size(), kMostOfAll / kLeastOfRank);
  TracePlan plan{.left_out = node_of.size() - count};
  if (count == 0) return plan;
  plan.bytes = std::clamp(kMostOfAll / count, kLeastOfRank, kMostOfRank);
  std::map<std::size_t, std::vector<int>> ranks_of;
  std::size_t taken = 0;
  for (const auto& [rank, node] : node_of)
    if (taken++ < count) ranks_of[node].push_back(rank);
  for (auto& [node, ranks] : ranks_of)
    plan.nodes.push_back({.node = usage[node].node, .ranks = std::move(ranks)});
  return plan;
}

TracesRead read_traces(Services& services, const OpenJob& open, std::span<const ssh::Host> hosts,
                       std::span<const UsageEvidence> usage) {
  const TracePlan plan = plan_of_traces(usage);
  TracesRead read{.left_out = plan.left_out};
  std::vector<launcher::NodeTask> tasks;
  for (const auto& [name, ranks] : plan.nodes) {
    const auto host =
        std::ranges::find(hosts, name, [](const ssh::Host& one) { return one.name.value; });
    if (host == hosts.end()) continue;
    std::vector<std::string> words = {"job-traces", launcher::job_directory(open.run()),
                                      std::to_string(plan.bytes)};
    for (const int rank : ranks)
      words.push_back(std::to_string(rank));
    // Backslashes are doubled on the way.
    tasks.push_back({.host = *host,
                     .command = remote::agent_command(services.agent().hash, words),
                     .most_output = (2 * plan.bytes + 1'024) * ranks.size()});
  }
  if (tasks.empty()) return read;
  const auto answers =
      launcher::ask_agent(services.ssh(), tasks, services.agent(), kTimeout, services.cancel());
  services.cancel().check();
  for (const auto& answer : answers)
    add_answer(answer, read);
  std::ranges::sort(read.traces, {}, &RankTrace::rank);
  return read;
}

}  // namespace fastgpu::cli
