#include "provision/cloud/machine_remover.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/cluster_machines.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr std::size_t kRemovalsAtOnce = 8;
/// The time after which a machine that is still alive is ordered to end again.
constexpr std::chrono::seconds kRepeatAfter{5};

/// Returns the ids of the machines behind `nodes`. A node whose request was never answered is found
/// by its index.
std::vector<std::string> ids_of(std::span<const state::Node> nodes,
                                std::span<const Machine> machines) {
  std::vector<std::string> ids;
  for (const state::Node& node : nodes) {
    const Machine* machine = machine_of(machines, node.instance_id, node.index);
    if (!node.instance_id.empty())
      ids.push_back(node.instance_id);
    else if (machine != nullptr)
      ids.push_back(machine->id);
  }
  return ids;
}

bool lacks_an_id(std::span<const state::Node> nodes) {
  return std::ranges::any_of(nodes, [](const state::Node& n) { return n.instance_id.empty(); });
}

}  // namespace

void MachineRemover::end(const state::Cluster& cluster, std::span<const state::Node> nodes) {
  const bool must_look = lacks_an_id(nodes) || regions_of(cluster).size() > 1;
  const std::string here = place_of(cluster).site.region;
  std::vector<Machine> there;
  if (must_look) there = machines_of(cloud_, cluster, never_);
  std::map<std::string, std::vector<std::string>> ids;
  for (const std::string& id : ids_of(nodes, there)) {
    const auto machine = std::ranges::find(there, id, &Machine::id);
    ids[machine == there.end() ? here : machine->site.region].push_back(id);
  }
  for (const auto& [region, all] : ids) {
    terminate(region, all);
    ended_.insert(all.begin(), all.end());
  }
}

void MachineRemover::terminate(const std::string& region, const std::vector<std::string>& ids) {
  const auto calls = chunks(ids, static_cast<std::size_t>(cloud_.limits().machines_a_call));
  throw_first(parallel_map(std::span(calls), kRemovalsAtOnce,
                           [&](const auto& some) { cloud_.terminate(region, some); }));
}

bool MachineRemover::all_have_ended(const std::string& region, const state::ClusterId& cluster,
                                    Ordered& ordered, std::chrono::milliseconds now) {
  std::vector<std::string> alive;
  bool is_empty = true;
  for (const Machine& machine : cloud_.machines(region, cluster, never_)) {
    is_empty = is_empty && machine.state == MachineState::gone;
    if (machine.state == MachineState::ending || machine.state == MachineState::gone) continue;
    const auto before = ordered.find(machine.id);
    if (before == ordered.end() || now - before->second >= kRepeatAfter)
      alive.push_back(machine.id);
  }
  terminate(region, alive);
  for (const std::string& id : alive)
    ordered[id] = now;
  return is_empty;
}

std::optional<Error> MachineRemover::remove_in(const std::string& region,
                                               const state::ClusterId& cluster, const Parts& known,
                                               const ReleaseLimits& limits) {
  Ordered ordered;
  for (const std::string& id : ended_)
    ordered.emplace(id, 0);
  std::optional<std::chrono::milliseconds> empty_since;
  // Machines that were ordered to end a moment ago are not gone yet.
  for (Polling polling(wait_);;) {
    pause_for(polling, never_,
              "removing the resources of cluster " + cluster.value + " in " + region);
    if (all_have_ended(region, cluster, ordered, polling.waited())) {
      if (!empty_since) empty_since = polling.elapsed();
      try {
        cloud_.remove_network(region, cluster, known);
        return std::nullopt;
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::conflict) throw;
        const auto in_use_for = polling.elapsed() - *empty_since;
        if (in_use_for >= limits.network || polling.elapsed() > limits.in_all) return e;
      }
    }
    if (polling.elapsed() > limits.in_all)
      throw Error(ErrorKind::timeout, "its machines in " + region +
                                          " were ordered to end, and have not all ended within "
                                          "the time limit");
  }
}

std::optional<Error> MachineRemover::remove(const state::Cluster& cluster,
                                            const ReleaseLimits& limits) {
  const auto regions = regions_of(cluster);
  const std::string here = place_of(cluster).site.region;
  const Parts known = own_parts(cluster);
  const auto results =
      parallel_map(std::span(regions), kRemovalsAtOnce, [&](const std::string& region) {
        return remove_in(region, cluster.id, region == here ? known : Parts(), limits);
      });
  throw_first(results);
  for (const auto& stays : results)
    if (stays.value()) return stays.value();
  return std::nullopt;
}

}  // namespace fastgpu::provision::cloud
