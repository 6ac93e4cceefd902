#include "cli/workflows/cluster_checks.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/join.hpp"
#include "base/quote.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/name_folding.hpp"
#include "launcher/checks/slurm_findings.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the ids of the jobs that may have processes on nodes.
std::set<std::string> unfinished_job_ids(Services& services) {
  std::set<std::string> ids;
  for (const state::Job& job : services.store().jobs())
    if (!launcher::has_ended(job)) ids.insert(job.id);
  return ids;
}

void add_line(CheckReport& report, std::string_view name, const std::string& skipped_for) {
  std::vector<launcher::Finding> own;
  std::ranges::copy_if(report.findings, std::back_inserter(own),
                       [&](const launcher::Finding& finding) { return finding.check == name; });
  const std::string result = !own.empty() ? worst_of(own) : !skipped_for.empty() ? "skipped" : "ok";
  report.checks.push_back({.name = std::string(name),
                           .result = result,
                           .skipped_for = result == "skipped" ? skipped_for : ""});
}

}  // namespace

std::vector<launcher::ClusterNode> cluster_nodes(Services& services, const RemoteTarget& target) {
  const ClusterHosts where(services.store(), target.cluster);
  std::vector<launcher::ClusterNode> nodes;
  for (std::size_t i = 0; i < target.nodes.size(); ++i)
    nodes.push_back({.host = target.hosts[i], .peer = where.peer(target.nodes[i])});
  return nodes;
}

CheckReport check_cluster(Services& services, const RemoteTarget& target) {
  const auto nodes = cluster_nodes(services, target);
  CheckReport report{
      .cluster = target.cluster.name.value, .nodes = {}, .checks = {}, .findings = {}};
  services.messages().progress("checking the nodes");
  report.nodes = launcher::check_nodes(services.ssh(), nodes, services.agent(), services.cancel());
  report.findings =
      launcher::node_findings(report.nodes, unfinished_job_ids(services), report.cluster);
  const auto links = launcher::linked_nodes(nodes, report.nodes);
  const bool has_links = links.size() > 1;
  if (has_links) {
    services.messages().progress("trying the connections between the nodes");
    const auto answers =
        launcher::probe_links(services.ssh(), nodes, links, launcher::new_link_probe(),
                              services.agent(), services.cancel());
    std::ranges::move(launcher::connection_findings(links, answers),
                      std::back_inserter(report.findings));
  }
  const bool has_slurm = has_own_slurm(target.cluster);
  if (has_slurm) {
    services.messages().progress("checking Slurm");
    std::ranges::move(check_scheduler(services, target), std::back_inserter(report.findings));
  }
  services.messages().end_progress();
  for (const std::string_view name : launcher::node_checks())
    add_line(report, name, launcher::not_checked(name, report.nodes));
  for (const std::string_view name : {"mtu", "connections"})
    add_line(report, name, has_links ? "" : "fewer than two nodes");
  add_line(report, launcher::kSlurmCheck, has_slurm ? "" : "no Slurm by fastgpu");
  return report;
}

launcher::Finding unmeasured_all_reduce(const std::string& cluster,
                                        const std::vector<std::string>& nodes,
                                        const std::vector<launcher::Finding>& findings) {
  std::vector<std::string> checks;
  std::set<std::string> with_errors;
  bool is_of_all = false;
  for (const launcher::Finding& finding : findings) {
    if (finding.severity != launcher::Severity::error) continue;
    if (std::ranges::find(checks, finding.check) == checks.end()) checks.push_back(finding.check);
    with_errors.insert(finding.nodes.begin(), finding.nodes.end());
    is_of_all = is_of_all || finding.nodes.empty();
  }
  std::vector<std::string> bad, good;
  for (const std::string& node : nodes)
    (with_errors.contains(node) ? bad : good).push_back(node);
  std::string remedy = "end the errors, and repeat the check";
  if (!is_of_all && good.size() > 1)
    remedy += "; the other nodes alone: fastgpu check net " +
              shell_quote(cluster + "/" + fold_names(good));
  return {.check = "all-reduce",
          .severity = launcher::Severity::warning,
          .nodes = bad,
          .found = "not measured, because of the errors of " + joined(checks),
          .why = "it needs all nodes",
          .remedy = remedy};
}

std::string worst_of(const std::vector<launcher::Finding>& findings) {
  std::string worst = "ok";
  for (const launcher::Finding& finding : findings) {
    if (finding.severity == launcher::Severity::error) return "error";
    worst = "warning";
  }
  return worst;
}

}  // namespace fastgpu::cli
