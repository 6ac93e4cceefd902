#include "provision/cloud/cluster_machines.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/parallel.hpp"
#include "provision/cloud/cloud_spec.hpp"

namespace fastgpu::provision::cloud {
namespace {

/// Returns what `list` returns for the regions of all the cluster's planned places.
template <class List>
std::vector<Machine> in_all_regions(const state::Cluster& cluster, List list) {
  constexpr std::size_t kRegionsAtOnce = 8;
  const auto regions = regions_of(cluster);
  std::vector<Machine> all;
  for (auto& found : parallel_map(std::span(regions), kRegionsAtOnce, list))
    std::ranges::move(std::move(found).value(), std::back_inserter(all));
  return all;
}

}  // namespace

std::vector<Machine> machines_of(Cloud& cloud, const state::Cluster& cluster,
                                 const Cancel& cancel) {
  return in_all_regions(cluster, [&](const std::string& region) {
    return cloud.machines(region, cluster.id, cancel);
  });
}

std::vector<Machine> machines_and_ended_of(Cloud& cloud, const state::Cluster& cluster,
                                           const Cancel& cancel) {
  return in_all_regions(cluster, [&](const std::string& region) {
    return cloud.machines_and_ended(region, cluster.id, cancel);
  });
}

void write_name(Cloud& cloud, const state::Cluster& cluster, const Cancel& cancel) {
  using RegionAndName = std::pair<std::string, std::string>;
  std::map<RegionAndName, std::vector<std::string>> ids;
  for (const Machine& machine : machines_of(cloud, cluster, cancel)) {
    const std::string& present = machine.marks.cluster_name;
    const std::string& first = machine.launched_as.empty() ? present : machine.launched_as;
    if (present != cluster.name.value) ids[{machine.site.region, first}].push_back(machine.id);
  }
  for (const auto& [where, some] : ids)
    cloud.tag(where.first, some, {.cluster_name = cluster.name.value, .launched_as = where.second},
              cancel);
}

void pause_for(Polling& polling, const Cancel& cancel, const std::string& doing) {
  constexpr std::chrono::minutes kTimeout{10};
  if (polling.waited() > kTimeout)
    throw Error(ErrorKind::timeout, doing + " took more than 10 minutes");
  polling.pause(cancel);
}

}  // namespace fastgpu::provision::cloud
