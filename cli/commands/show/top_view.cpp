#include "cli/commands/show/top_view.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/join.hpp"
#include "base/outcome.hpp"
#include "cli/program/app.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using launcher::GpuUsage;
using launcher::NodeUsage;

/// GPUs whose use differs by more than this are not shown as one figure.
constexpr int kAlikePercent = 10;

int percent_of(double part) {
  return static_cast<int>(std::lround(part * 100));
}

/// Returns "1.5 GB of 16 GB".
std::string memory_text(Bytes used, Bytes all) {
  return to_string(used) + " of " + to_string(all);
}

std::string rate_text(Bytes each_second) {
  return to_string(each_second) + "/s";
}

/// Returns "8: 97%", "8: 0-98%" for GPUs that are not alike, "-" without GPUs, and "no answer" if
/// nvidia-smi gives none.
std::string gpus_text(const NodeUsage& usage) {
  const std::vector<GpuUsage>& gpus = usage.gpus;
  if (gpus.empty()) return usage.is_gpu_tool_silent ? "no answer" : "-";
  const std::string count = std::to_string(gpus.size()) + ": ";
  const bool all_known =
      std::ranges::all_of(gpus, [](const GpuUsage& gpu) { return gpu.percent.has_value(); });
  if (!all_known) return count + "?";
  const auto [least, most] = std::ranges::minmax(gpus, {}, &GpuUsage::percent);
  if (*most.percent - *least.percent > kAlikePercent)
    return count + std::to_string(*least.percent) + "-" + std::to_string(*most.percent) + "%";
  int sum = 0;
  for (const GpuUsage& gpu : gpus)
    sum += *gpu.percent;
  return count + std::to_string(sum / static_cast<int>(gpus.size())) + "%";
}

std::string gpu_memory_text(const std::vector<GpuUsage>& gpus) {
  Bytes used, all;
  for (const GpuUsage& gpu : gpus) {
    used.count += gpu.memory_used.count;
    all.count += gpu.memory.count;
  }
  return all.count == 0 ? "-" : memory_text(used, all);
}

bool is_on_nodes(const JobOnNodes& job) {
  return job.engine == state::EngineKind::mpirun;
}

/// Returns "rank 0", "ranks 0-3".
std::string range_text(int first, int count) {
  const std::string text = std::to_string(first);
  return count == 1 ? "rank " + text : "ranks " + text + "-" + std::to_string(first + count - 1);
}

/// Returns "train-1: ranks 0-3, eval-2: rank 0".
std::string ranks_text(const NodeName& node, std::span<const JobOnNodes> jobs) {
  std::vector<std::string> texts;
  for (const JobOnNodes& job : jobs)
    for (const state::NodeRanks& ranks : job.placement) {
      if (ranks.node != node || ranks.count == 0 || !is_on_nodes(job)) continue;
      texts.push_back(job.id + ": " + range_text(ranks.first, ranks.count));
    }
  return texts.empty() ? "-" : joined(texts);
}

Json jobs_json(const NodeName& node, std::span<const JobOnNodes> jobs) {
  Json found = Json::array();
  for (const JobOnNodes& job : jobs)
    for (const state::NodeRanks& ranks : job.placement)
      if (ranks.node == node && ranks.count > 0 && is_on_nodes(job))
        found.push_back({{"id", job.id}, {"first_rank", ranks.first}, {"ranks", ranks.count}});
  return found;
}

/// Returns "train-1: epoch 3, loss 0.53" for the jobs that have ranks on `node` and on none of the
/// nodes before it.
std::string metrics_text(std::size_t node, std::span<const UsageOfNode> nodes,
                         std::span<const JobOnNodes> jobs) {
  const auto has_ranks = [](const JobOnNodes& job, const NodeName& name) {
    return is_on_nodes(job) && std::ranges::any_of(job.placement, [&](const auto& ranks) {
             return ranks.node == name && ranks.count > 0;
           });
  };
  std::vector<std::string> texts;
  for (const JobOnNodes& job : jobs) {
    const auto first = std::ranges::find_if(
        nodes, [&](const UsageOfNode& one) { return has_ranks(job, one.host); });
    const bool is_first = first - nodes.begin() == static_cast<std::ptrdiff_t>(node);
    if (is_first && !job.metrics.empty()) texts.push_back(job.id + ": " + to_text(job.metrics));
  }
  return texts.empty() ? "-" : joined(texts, "; ");
}

Json metrics_json(std::span<const JobOnNodes> jobs) {
  Json found = Json::object();
  for (const JobOnNodes& job : jobs)
    for (const PrintedMetric& metric : job.metrics)
      found[job.id].push_back(
          {{"name", metric.name},
           {"value", std::isfinite(metric.value) ? Json(metric.value) : Json(nullptr)},
           {"text", metric.text}});
  return found;
}

Json gpu_json(const GpuUsage& gpu) {
  return {{"index", gpu.index},
          {"busy_percent", gpu.percent ? Json(*gpu.percent) : Json(nullptr)},
          {"memory_used_bytes", gpu.memory_used.count},
          {"memory_bytes", gpu.memory.count}};
}

Json node_json(const UsageOfNode& node, std::span<const JobOnNodes> jobs) {
  Json out = {{"name", node.host.value}, {"error", nullptr}, {"jobs", jobs_json(node.host, jobs)}};
  if (!node.ok()) {
    out["error"] = {{"kind", word_for(node.error().kind())}, {"message", node.error().what()}};
    return out;
  }
  const NodeUsage& usage = node.value();
  out["busy_percent"] = percent_of(usage.busy);
  out["memory_used_bytes"] = usage.memory_used.count;
  out["memory_bytes"] = usage.memory.count;
  out["received_bytes_per_second"] = usage.received_each_second.count;
  out["sent_bytes_per_second"] = usage.sent_each_second.count;
  out["gpus"] = usage.is_gpu_tool_silent ? Json() : Json::array();
  for (const GpuUsage& gpu : usage.gpus)
    out["gpus"].push_back(gpu_json(gpu));
  return out;
}

std::vector<Cell> row_of(const UsageOfNode& node, std::span<const JobOnNodes> jobs) {
  const std::string ranks = ranks_text(node.host, jobs);
  if (!node.ok())
    return {node.host.value, {"no answer", Color::red}, "-", "-", "-", "-", "-", ranks};
  const NodeUsage& usage = node.value();
  return {node.host.value,
          std::to_string(percent_of(usage.busy)) + "%",
          memory_text(usage.memory_used, usage.memory),
          gpus_text(usage),
          gpu_memory_text(usage.gpus),
          rate_text(usage.received_each_second),
          rate_text(usage.sent_each_second),
          ranks};
}

int ranks_of(const JobOnNodes& job) {
  int count = 0;
  for (const state::NodeRanks& ranks : job.placement)
    count += ranks.count;
  return count;
}

Json engine_job_json(const JobOnNodes& job) {
  return {{"id", job.id},
          {"engine", state::to_string(job.engine)},
          {"ranks", ranks_of(job)},
          {"nodes", job.engine_nodes.empty() ? Json() : Json(job.engine_nodes)}};
}

/// Returns the row of a job whose engine has chosen the nodes.
std::vector<Cell> row_of(const JobOnNodes& job) {
  const std::string where = job.engine_nodes.empty() ? "" : " on " + job.engine_nodes;
  return {std::string(state::to_string(job.engine)),
          "-",
          "-",
          "-",
          "-",
          "-",
          "-",
          job.id + ": " + range_text(0, ranks_of(job)) + where,
          job.metrics.empty() ? "-" : job.id + ": " + to_text(job.metrics)};
}

}  // namespace

std::vector<UsageOfNode> usage_of_nodes(
    std::span<const HostResult<launcher::UsageCounters>> before,
    std::span<const HostResult<launcher::UsageCounters>> after) {
  std::vector<UsageOfNode> found;
  for (std::size_t i = 0; i < after.size(); ++i)
    found.push_back({after[i].host, attempt([&] {
                       const launcher::UsageCounters& now = after[i].value();
                       return launcher::usage_between(before[i].value(), now);
                     })});
  return found;
}

View view_of_usage(const std::string& cluster, std::span<const UsageOfNode> nodes,
                   std::span<const JobOnNodes> jobs) {
  View view;
  if (cluster.empty()) view.when_empty = "no job runs in Kubernetes";
  view.root = document("top");
  view.root["cluster"] = cluster.empty() ? Json() : Json(cluster);
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODE"},
                        {"CPU"},
                        {"MEMORY"},
                        {"GPUS"},
                        {"GPU MEMORY", false, Fit::optional},
                        {"RECEIVED"},
                        {"SENT"},
                        {"RANKS", false, Fit::prose},
                        {"METRICS", false, Fit::prose}};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    view.root["nodes"].push_back(node_json(nodes[i], jobs));
    view.table.rows.push_back(row_of(nodes[i], jobs));
    view.table.rows.back().emplace_back(metrics_text(i, nodes, jobs));
    view.names.push_back(nodes[i].host.value);
  }
  view.root["engine_jobs"] = Json::array();
  for (const JobOnNodes& job : jobs) {
    if (is_on_nodes(job)) continue;
    view.root["engine_jobs"].push_back(engine_job_json(job));
    view.table.rows.push_back(row_of(job));
  }
  view.root["metrics"] = metrics_json(jobs);
  return view;
}

}  // namespace fastgpu::cli
