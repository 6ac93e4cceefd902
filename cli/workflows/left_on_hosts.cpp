#include "cli/workflows/left_on_hosts.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/join.hpp"
#include "base/quote.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/copy_route.hpp"
#include "cli/workflows/name_folding.hpp"
#include "envs/environments/nodes.hpp"
#include "envs/environments/record.hpp"
#include "provision/providers.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

envs::EnvironmentsRecord environments_of(Services& services, const state::Cluster& cluster) {
  return envs::read_record(state::cluster_directory(services.state_directory(), cluster.id));
}

bool is_kept(const state::Cluster& cluster) {
  return provision::provider_info(cluster.provider).needs_hosts_file;
}

}  // namespace

void deactivate_on_leaving(Services& services, const state::Cluster& cluster,
                           std::span<const state::Node> nodes) {
  if (!is_kept(cluster) || nodes.empty()) return;
  const envs::EnvironmentsRecord record = environments_of(services, cluster);
  const auto prefix = record.prefix.find(record.active);
  if (prefix == record.prefix.end()) return;
  services.messages().progress("deactivating environment " + record.active);
  const ClusterHosts where(services.store(), cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : nodes)
    hosts.push_back(where.of(node));
  const envs::NodeAccess access = node_access(services);
  const auto answers =
      envs::call_nodes(access, hosts,
                       [&](std::size_t) {
                         return envs::NodeCall{.words = {"env-deactivate", prefix->second}};
                       },
                       {});
  services.cancel().check();
  services.messages().end_progress();
  for (const auto& answer : answers)
    if (!answer.ok())
      services.messages().warn(std::string(answer.error().what()) + "; logins on " +
                               answer.host.value + " still get environment " + record.active +
                               ": remove the lines of fastgpu there from ~/.profile (root: " +
                               "/etc/profile.d/fastgpu.sh)");
}

std::string rest_on_hosts(Services& services, const state::Cluster& cluster,
                          std::span<const state::Node> nodes) {
  if (!is_kept(cluster) || nodes.empty()) return {};
  const envs::EnvironmentsRecord record = environments_of(services, cluster);
  std::vector<std::string> names;
  for (const state::Node& node : nodes)
    names.push_back(node.name.value);
  std::vector<std::string> environments;
  std::set<std::string> places = record.used_prefixes;
  for (const auto& [name, prefix] : record.prefix) {
    environments.push_back(name);
    places.insert(prefix);
  }
  std::string paths =
      "~/.fastgpu /var/tmp/fastgpu-$(id -u)*";  // The second where a home is shared.
  for (const std::string& place : places)
    if (!place.empty() && place.find("/.fastgpu/") == std::string::npos)
      paths += " " + shell_quote(place);
  const bool is_one = names.size() == 1;
  std::string what = is_one ? " keeps" : " keep";
  if (!environments.empty())
    what += " environment" + std::string(environments.size() == 1 ? " " : "s ") +
            joined(environments) + ", and";
  return fold_names(names) + what + " fastgpu's agent and the files of jobs; to remove them from " +
         (is_one ? "it" : "each") + ", unless another cluster uses " + (is_one ? "it" : "them") +
         ": rm -rf " + paths;
}

}  // namespace fastgpu::cli
