#include "cli/commands/show/node_jobs.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace fastgpu::cli {
namespace {

bool is_on_its_nodes(const state::Job& job) {
  return job.state == state::JobState::starting || job.state == state::JobState::running;
}

/// Adds the job if it has ranks on the node; not if its record is damaged.
void add_job(const state::Job& job, const NodeName& node, std::vector<NodeJob>& found) try {
  const launcher::JobRecord& record = *job.record;
  if (record.spec.engine != launcher::EngineKind::mpirun) return;
  for (const launcher::NodeRanks& ranks : record.placement)
    if (ranks.node == node)
      found.push_back({.processes = ranks.count * std::max(1, ranks.workers),
                       .parts = launcher::parts_held_by(job.id, ranks),
                       .sharing = record.spec.sharing});
} catch (const Error&) {
  return;
}

}  // namespace

std::vector<NodeJob> jobs_on(const state::Node& node, std::span<const state::Job> jobs) {
  std::vector<NodeJob> found;
  for (const state::Job& job : jobs)
    if (job.cluster == node.cluster && is_on_its_nodes(job)) add_job(job, node.name, found);
  return found;
}

Json node_jobs_document(std::span<const NodeJob> jobs) {
  Json list = Json::array();
  for (const NodeJob& job : jobs)
    list.push_back({{"job", job.parts.job},
                    {"ranks", job.processes},
                    {"shared", job.sharing == launcher::Sharing::shared},
                    {"cpus", launcher::index_list(job.parts.cpus)},
                    {"gpus", job.parts.gpus}});
  return list;
}

Json node_jobs_table(std::span<const NodeJob> jobs) {
  const bool has_gpus =
      std::ranges::any_of(jobs, [](const NodeJob& job) { return !job.parts.gpus.empty(); });
  const bool has_cpus =
      std::ranges::any_of(jobs, [](const NodeJob& job) { return !job.parts.cpus.empty(); });
  Json table = Json::array();
  for (const NodeJob& job : jobs) {
    Json row{{"job", job.parts.job}, {"ranks", job.processes}};
    if (has_gpus) row["holds GPUs"] = launcher::index_list(job.parts.gpus);
    if (has_cpus) row["holds CPUs"] = launcher::index_list(job.parts.cpus);
    table.push_back(std::move(row));
  }
  return table;
}

}  // namespace fastgpu::cli
