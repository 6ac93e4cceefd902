#include "provision/cloud/machine_launcher.hpp"

#include <algorithm>
#include <iterator>

#include "base/contains.hpp"
#include "base/parallel.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/cluster_machines.hpp"
#include "provision/cloud/launch_order.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr std::size_t kLaunchesAtOnce = 32;  // Many: a launch may wait for its machines.

Error too_few(const Place& place, std::size_t got, std::size_t wanted) {
  return {ErrorKind::capacity, "no stock: " + std::to_string(got) + " of " +
                                   std::to_string(wanted) + " " + place.type + " could be had in " +
                                   place.site.zone};
}

/// Returns the number of batches for the head node, 0 or 1, at the beginning of `wanted`. If the
/// other nodes can be reached only through the head, they are not requested without it.
std::size_t heads_in(std::span<const std::vector<NodeRequest>> wanted, PublicAddress which) {
  const bool begins_with_it = !wanted.empty() && wanted.front().front().index == kHead;
  return which == PublicAddress::head && begins_with_it ? 1 : 0;
}

/// Returns the machine of `request`; null without one. A machine on record that the list shows with
/// the index of another request is that one's: its launch was answered with ids alone.
const Machine* machine_for(std::span<const Machine> there, const NodeRequest& request,
                           std::span<const NodeRequest> requests) {
  const Machine* found = machine_of(there, request.instance_id, request.index);
  const bool is_of_another = found != nullptr && found->index != request.index &&
                             contains(requests, found->index, &NodeRequest::index);
  return is_of_another ? nullptr : found;
}

}  // namespace

MachineLauncher::Refused MachineLauncher::launch_all(
    const state::Cluster& cluster, const std::string& owner,
    std::span<const std::vector<NodeRequest>> wanted, std::vector<Machine>& there,
    const Cancel& cancel) {
  const Limits limits = cloud_.limits();
  const auto launched = parallel_map(wanted, kLaunchesAtOnce, [&](const auto& batch) {
    return cloud_.launch(launch_of(cluster, owner, batch, limits), cancel);
  });
  Refused refused;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (launched[i].ok())
      std::ranges::copy(launched[i].value(), std::back_inserter(there));
    else
      for (const NodeRequest& request : wanted[i])
        refused.emplace(request.index, launched[i].error());
  }
  return refused;
}

MachineLauncher::Refused MachineLauncher::launch_missing(const state::Cluster& cluster,
                                                         const std::string& owner,
                                                         std::span<const NodeRequest> missing,
                                                         std::vector<Machine>& there,
                                                         const Cancel& cancel) {
  const PublicAddress which = cluster.cloud().public_address;
  const auto wanted = batches(missing, cloud_.limits().machines_a_launch, which);
  const auto heads = std::span(wanted).first(heads_in(wanted, which));
  const auto rest = std::span(wanted).subspan(heads.size());
  Refused refused = launch_all(cluster, owner, heads, there, cancel);
  if (refused.empty()) return launch_all(cluster, owner, rest, there, cancel);
  for (const NodeRequest& request : missing)
    refused.emplace(request.index, refused.begin()->second);
  return refused;
}

void MachineLauncher::add_unlisted(std::span<const NodeRequest> requests,
                                   std::vector<Machine>& there) {
  for (const Machine& machine : there)
    unlisted_.erase(machine.id);
  for (const NodeRequest& request : requests)
    if (const auto found = unlisted_.find(request.instance_id); found != unlisted_.end())
      there.push_back(found->second);
}

std::vector<Machine> MachineLauncher::machines_of_earlier(const state::Cluster& cluster,
                                                          std::span<const NodeRequest> requests,
                                                          const Cancel& cancel) {
  const std::string region = place_of(cluster).site.region;
  for (Polling polling(wait_);; pause_for(polling, cancel, "waiting for machines to be listed")) {
    std::vector<Machine> there;
    if (std::ranges::any_of(requests, &NodeRequest::may_be_there))
      there = cloud_.machines(region, cluster.id, cancel);
    add_unlisted(requests, there);
    const bool is_complete = std::ranges::all_of(requests, [&](const NodeRequest& request) {
      return !request.may_be_there || request.instance_id.empty() ||
             contains(there, request.instance_id, &Machine::id);
    });
    if (is_complete || polling.waited() >= kListingTimeout) return there;
  }
}

std::vector<HostResult<Instance>> MachineLauncher::create(const state::Cluster& cluster,
                                                          const std::string& owner,
                                                          std::span<const NodeRequest> requests,
                                                          const Cancel& cancel) {
  const Place place = place_of(cluster);
  std::vector<Machine> there = machines_of_earlier(cluster, requests, cancel);
  std::erase_if(there, [&](const Machine& machine) { return !is_at(machine, place); });
  const std::size_t known = there.size();
  std::vector<NodeRequest> missing;
  for (const NodeRequest& request : requests)
    if (machine_for(there, request, requests) == nullptr) missing.push_back(request);
  const Refused refused = launch_missing(cluster, owner, missing, there, cancel);
  for (const Machine& machine : std::span(there).subspan(known))
    unlisted_.insert_or_assign(machine.id, machine);
  std::vector<HostResult<Instance>> results;
  for (const NodeRequest& request : requests) {
    const Machine* machine = machine_for(there, request, requests);
    if (machine != nullptr)
      results.push_back({request.name, instance_of(*machine, cluster.cloud().public_address)});
    else if (const auto error = refused.find(request.index); error != refused.end())
      results.push_back({request.name, error->second});
    else
      results.push_back({request.name, too_few(place, there.size(), requests.size())});
  }
  return results;
}

}  // namespace fastgpu::provision::cloud
