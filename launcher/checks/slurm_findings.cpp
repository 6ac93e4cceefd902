#include "launcher/checks/slurm_findings.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/split.hpp"
#include "launcher/engines/slurm_site.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns the consequence of the end of a daemon.
std::string consequence_of(const std::string& daemon) {
  if (daemon == "slurmctld") return "no job can be given to Slurm, and none of its jobs starts";
  if (daemon == "munged") return "the daemons of Slurm refuse each other's messages";
  return "jobs of Slurm on the node fail";
}

/// Returns the node with that name in Slurm, as the cluster calls it; the name itself for a node
/// that was not asked.
std::string name_of(std::span<const SlurmHealth> nodes, const std::string& name) {
  for (const SlurmHealth& node : nodes)
    if (slurm_node_name(node.node) == name) return node.node.value;
  return name;
}

bool is_known_broken(std::span<const SlurmHealth> nodes, const std::string& name) {
  return std::ranges::any_of(nodes, [&](const SlurmHealth& node) {
    return node.node.value == name && (node.is_missing || !node.dead.empty());
  });
}

}  // namespace

SlurmHealth parse_slurm_health(const NodeName& node, std::string_view text) {
  SlurmHealth health{.node = node};
  for (const std::string_view line : split_lines(text)) {
    const auto parts = split(line, '\t');
    if (line == "end") return health;
    if (line == "missing") {
      health.is_missing = true;
    } else if (parts.size() == 2 && parts[0] == "dead") {
      health.dead.emplace_back(parts[1]);
    } else if (parts.size() == 2 && parts[0] == "silent") {
      health.controller_failure = printable(parts[1], 200);
    } else if (parts.size() == 3 && parts[0] == "out") {
      health.out.push_back({printable(parts[1]), printable(parts[2])});
    } else {
      break;
    }
  }
  throw Error(ErrorKind::remote,
              node.value + ": the check of Slurm has answered: " + printable(text, 200));
}

std::vector<Finding> slurm_findings(std::span<const SlurmHealth> nodes,
                                    const std::string& cluster) {
  const std::string repair = "fastgpu start cluster " + cluster;
  std::vector<Finding> findings;
  const auto add = [&](std::vector<std::string> where, std::string found, std::string why,
                       std::string remedy) {
    findings.push_back({.check = std::string(kSlurmCheck),
                        .severity = Severity::error,
                        .nodes = std::move(where),
                        .found = std::move(found),
                        .why = std::move(why),
                        .remedy = std::move(remedy)});
  };
  std::vector<std::string> missing;
  std::map<std::string, std::vector<std::string>> dead;
  for (const SlurmHealth& node : nodes) {
    if (node.is_missing) missing.push_back(node.node.value);
    for (const std::string& daemon : node.dead)
      dead[daemon].push_back(node.node.value);
  }
  if (!missing.empty())
    add(std::move(missing), "no Slurm of this cluster, whose record has `scheduler: slurm`",
        "jobs with --engine slurm fail", repair);
  for (auto& [daemon, where] : dead)
    add(std::move(where), daemon + " does not run", consequence_of(daemon), repair);
  for (const SlurmHealth& node : nodes) {
    if (!node.controller_failure.empty() && node.dead.empty())
      add({node.node.value}, "Slurm's controller does not answer: " + node.controller_failure,
          consequence_of("slurmctld"), repair);
    for (const NodeOutOfService& out : node.out) {
      const std::string name = name_of(nodes, out.node);
      if (!is_known_broken(nodes, name))
        add({name}, "Slurm has it in the state " + out.state, "Slurm gives it no jobs",
            repair + "; if that does not help, `fastgpu exec " + node.node.value +
                " -- sinfo -R` shows the reason");
    }
  }
  return findings;
}

}  // namespace fastgpu::launcher
