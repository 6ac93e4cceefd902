#include "provision/shared_network.hpp"

#include <variant>

#include "base/join.hpp"

namespace fastgpu::provision {

std::string network_of(const state::Cluster& cluster) try {
  const auto* placement = std::get_if<state::CloudPlacement>(&*cluster.network);
  if (placement == nullptr) return {};
  const auto network = placement->parts.find("vpc");
  return network == placement->parts.end() ? std::string() : network->second;
} catch (const Error&) {
  return {};  // A damaged record names no network.
}

namespace {

/// Returns true if that network was made for the cluster, under its id or the name that we gave it.
bool has_made(const state::Cluster& cluster, const std::string& vpc) try {
  const auto* cloud = std::get_if<state::CloudSpec>(&*cluster.provider_spec);
  if (cloud == nullptr || !cloud->vpc.empty()) return false;
  return vpc == network_of(cluster) ||
         (vpc.starts_with("fastgpu-") && vpc.ends_with("-" + cluster.id.value));
} catch (const Error&) {
  return false;  // A damaged record names no network.
}

}  // namespace

std::vector<state::Cluster> others_in_network(const state::Store& store,
                                              const state::Cluster& cluster) {
  std::vector<state::Cluster> others;
  const std::string network = network_of(cluster);
  if (network.empty()) return others;
  for (const state::Cluster& other : store.clusters())
    if (other.id != cluster.id && other.provider == cluster.provider &&
        network_of(other) == network && !store.nodes(other.id).empty())
      others.push_back(other);
  return others;
}

std::string shared_network_warning(const state::Store& store, const ClusterSpec& spec) {
  const auto* cloud = std::get_if<state::CloudSpec>(&spec.provider_spec);
  if (cloud == nullptr || cloud->vpc.empty()) return {};
  for (const state::Cluster& owner : store.clusters())
    if (owner.provider == spec.provider && owner.name != spec.name && has_made(owner, cloud->vpc))
      return "network " + cloud->vpc + " belongs to cluster " + owner.name.value + ": cluster " +
             spec.name.value + " has to be deleted before that network can be removed";
  return {};
}

Error network_stays(const state::Cluster& cluster, const std::vector<state::Cluster>& users,
                    const Error& refusal) {
  const std::string network = network_of(cluster);
  const std::string what = "the machines of cluster " + cluster.name.value +
                           " are gone, but its network " + network + (network.empty() ? "" : " ") +
                           "stays: ";
  if (users.empty())
    return {ErrorKind::conflict,
            what + refusal.what() + "; remove what uses it, and `fastgpu gc` removes the network"};
  std::string named;
  std::string words;
  for (const state::Cluster& user : users) {
    append_item(named, user.name.value);
    append_item(words, user.name.value, " ");
  }
  return {ErrorKind::conflict,
          what + (users.size() == 1 ? "cluster " + named + " uses" : "clusters " + named + " use") +
              " it; `fastgpu delete cluster " + words + "` removes it as well"};
}

bool is_remainder(const state::Store& store, const state::Cluster& cluster) {
  return cluster.state == state::ClusterState::deleting && store.nodes(cluster.id).empty();
}

}  // namespace fastgpu::provision
