#include "cli/workflows/lookup.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/host_names.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "cli/workflows/name_folding.hpp"
#include "cli/workflows/node_selection.hpp"
#include "launcher/array.hpp"

namespace fastgpu::cli {
namespace {

[[noreturn]] void refuse(const std::string& what, std::string_view name,
                         const std::vector<std::string>& known, const std::string& list_command) {
  const std::string near = nearest_name(name, known);
  throw Error(ErrorKind::not_found, what + " '" + printable(name) + "'" +
                                        (near.empty() ? "; " + list_command + " lists them"
                                                      : ", did you mean " + near + "?"));
}

bool has_all(const std::vector<state::Node>& nodes, const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    return std::ranges::any_of(nodes,
                               [&](const state::Node& node) { return node.name.value == name; });
  });
}

}  // namespace

state::Cluster find_cluster(Services& services, std::string_view name) {
  const ClusterName checked = parse_cluster_name(name);
  if (const auto found = services.store().find_cluster(checked)) return *found;
  std::vector<std::string> known;
  for (const state::Cluster& cluster : services.store().clusters()) {
    known.push_back(cluster.name.value);
    if (has_all(services.store().nodes(cluster.id), {std::string(name)}))
      throw Error(ErrorKind::not_found, "there is no cluster '" + printable(name) +
                                            "': that is a node of cluster " + cluster.name.value);
  }
  refuse("there is no cluster", name, known, "fastgpu get clusters");
}

state::Node find_node(Services& services, std::string_view name) {
  const Target target = parse_target(name);
  if (!target.node_set.empty()) {
    const auto nodes =
        find_nodes(services, find_cluster(services, target.cluster), target.node_set);
    if (nodes.size() == 1) return nodes.front();
    throw Error(ErrorKind::usage, "'" + printable(name) + "' names " +
                                      counted(nodes.size(), "node") + ", but one node is needed");
  }
  std::vector<std::string> known;
  std::vector<state::Node> found;
  for (const state::Cluster& cluster : services.store().clusters())
    for (const state::Node& node : services.store().nodes(cluster.id)) {
      known.push_back(node.name.value);
      if (node.name.value == name) found.push_back(node);
    }
  if (found.size() == 1) return found.front();
  if (found.empty()) refuse("there is no node", name, known, "fastgpu get nodes");
  throw Error(ErrorKind::usage, "several clusters have a node '" + printable(name) +
                                    "': write CLUSTER/" + printable(name));
}

state::Job find_job(Services& services, std::string_view name) {
  if (const auto found = services.store().find_job(std::string(name))) return *found;
  std::vector<std::string> known;
  for (const state::Job& job : services.store().jobs()) {
    const std::string array = launcher::array_of(job.id);
    const bool is_named = job.id.substr(0, job.id.rfind('-')) == name;
    if (!array.empty() && (is_named || array == name))
      throw Error(ErrorKind::usage, array + " is an array of jobs: name one of them, such as " +
                                        job.id + "; fastgpu get jobs " + array + " lists them");
    if (is_named) return job;
    known.push_back(job.id);
  }
  refuse("there is no job", name, known, "fastgpu get jobs");
}

std::vector<state::Node> find_nodes(Services& services, const state::Cluster& cluster,
                                    std::string_view node_set) {
  const std::vector<state::Node> nodes = services.store().nodes(cluster.id);
  if (node_set.empty()) return nodes;
  return select_nodes(cluster, nodes, node_set,
                      [&](std::string_view name) { return services.settings().group(name); });
}

std::string usual_cluster(Services& services, const std::string& given, const std::string& who,
                          Purpose purpose) {
  if (!given.empty()) return given;
  const config::Setting& usual = services.settings().find("cluster");
  const bool is_projects = usual.origin == config::Origin::project_file;
  if (is_projects && purpose == Purpose::remove)
    throw Error(
        ErrorKind::usage,
        who + ": name the cluster with --cluster: " + usual.where +
            " belongs to a project, and such a file does not choose the cluster of a removal");
  if (is_projects)
    services.messages().note("cluster " + printable(usual.text) + ", by " + usual.where);
  if (!usual.text.empty()) return usual.text;
  const auto all = services.store().clusters();
  if (all.size() == 1) return all.front().name.value;
  if (all.empty())
    throw Error(ErrorKind::usage,
                who + ": there is no cluster yet; create one: fastgpu create cluster demo");
  constexpr std::size_t kMostNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < all.size() && i < kMostNamed; ++i)
    append_item(names, all[i].name.value);
  if (all.size() > kMostNamed) names += ", ...";
  throw Error(ErrorKind::usage, who + ": --cluster is missing, and there are several: " + names);
}

Target parse_target(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {std::string(text), ""};
  Target target{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
  if (target.node_set.empty())
    throw Error(ErrorKind::usage,
                "'" + printable(text) + "' names no node after the slash: write it like demo/0");
  return target;
}

Target find_target(Services& services, std::string_view text) {
  Target target = parse_target(text);
  state::Store& store = services.store();
  if (!target.node_set.empty() || text.empty() || store.find_cluster(ClusterName{target.cluster}))
    return target;
  std::vector<std::string> owners;
  for (const state::Cluster& cluster : store.clusters())
    if (has_all(store.nodes(cluster.id), unfold_names(text))) owners.push_back(cluster.name.value);
  if (owners.size() > 1)
    throw Error(ErrorKind::usage, "several clusters have a node '" + printable(text) + "': write " +
                                      owners.front() + "/" + printable(text));
  if (owners.empty()) return target;
  return {owners.front(), std::string(text)};
}

std::string without(const std::string& target, const std::string& left_out) {
  if (left_out.empty()) return target;
  return target + (target.find('/') == std::string::npos ? "/!" : "!") + left_out;
}

}  // namespace fastgpu::cli
