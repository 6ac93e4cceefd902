#include "cli/commands/cluster/running_jobs.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostNamed = 5;

/// Returns true if the job has ranks on the nodes. Assumes so for a job whose record is unreadable.
bool is_on(const state::Job& job, const std::vector<state::Node>& nodes) try {
  return std::ranges::any_of(job.record->placement, [&](const launcher::NodeRanks& ranks) {
    return contains(nodes, ranks.node, &state::Node::name);
  });
} catch (const Error&) {
  return true;
}

/// Returns the job as its nodes see it now, or as recorded if they do not answer.
state::Job asked(Context& context, const state::Job& job) {
  try {
    return refresh_job(context, job);
  } catch (const Error&) {
    context.cancel().check();
    return job;
  }
}

}  // namespace

std::vector<std::string> running_jobs(Context& context, const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes, JobSource source) {
  std::vector<std::string> ids;
  for (const state::Job& job : context.store().jobs()) {
    if (job.cluster != cluster.id || launcher::has_ended(job) || !is_on(job, nodes)) continue;
    const bool has_ended = source == JobSource::nodes && launcher::has_ended(asked(context, job));
    if (!has_ended) ids.push_back(job.id);
  }
  std::ranges::reverse(ids);
  return ids;
}

std::string jobs_text(const std::vector<std::string>& jobs) {
  if (jobs.empty()) return {};
  const std::string text =
      counted(jobs.size(), "job") + (jobs.size() == 1 ? " runs on it: " : " run on it: ");
  std::string names;
  for (std::size_t i = 0; i < std::min(jobs.size(), kMostNamed); ++i)
    append_item(names, jobs[i]);
  return text + names + (jobs.size() > kMostNamed ? ", ..." : "");
}

}  // namespace fastgpu::cli
