#include "provision/cloud/cloud_provider.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/parallel.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/orphans.hpp"
#include "provision/cloud/user_data.hpp"
#include "provision/guards.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::cloud {
namespace {

using namespace std::chrono_literals;
using Results = std::vector<HostResult<Instance>>;

constexpr std::size_t kCallsAtOnce = 8;
/// Higher than kCallsAtOnce: a launch may wait for its machines.
constexpr std::size_t kLaunchesAtOnce = 32;
/// The timeout for a cloud that starts, stops or ends machines.
constexpr std::chrono::minutes kTimeout{10};
/// The timeout for a cloud that has promised a machine and does not list it yet.
constexpr std::chrono::seconds kListingPatience{15};
/// The time after which a machine that is still alive is ordered to end again.
constexpr std::chrono::seconds kTellAgain{5};

Place place_of(const CloudSpec& spec, const CloudPlacement& placement) {
  if (placement.place >= spec.places.size())
    throw Error(ErrorKind::local,
                "corrupt state: the cluster's place is not among its planned places");
  return spec.places[placement.place];
}

Place place_of(const state::Cluster& cluster) {
  return place_of(cluster.cloud(), cluster.placement());
}

/// Returns the parts on record that belong to the cluster alone, without a network of the user.
Parts own_parts(const state::Cluster& cluster) {
  Parts parts = cluster.placement().parts;
  if (!cluster.cloud().vpc.empty())
    std::erase_if(parts, [](const auto& part) {
      return part.first == "vpc" || part.first == "subnet" || part.first == "vswitch";
    });
  return parts;
}

/// Returns the user's own network, by the id on record if there is one, because its name may have
/// changed. Empty for a network of the cluster's own.
std::string user_vpc(const CloudSpec& spec, const CloudPlacement& placement) {
  const auto recorded = placement.parts.find("vpc");
  return spec.vpc.empty() || recorded == placement.parts.end() ? spec.vpc : recorded->second;
}

std::vector<std::string> regions_of(const state::Cluster& cluster) {
  std::set<std::string> regions;
  for (const Place& place : cluster.cloud().places)
    regions.insert(place.site.region);
  return {regions.begin(), regions.end()};
}

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

/// Sets the end of a machine at its launch. A repeated launch must be the same launch: while the
/// cluster is being created, all times count from its creation.
void set_end(Launch& launch, FirstBoot& boot, const state::Cluster& cluster, const CloudSpec& spec,
             const Place& place, bool has_timer) {
  // The least time for reaching the machine and changing its end.
  constexpr std::chrono::seconds kShortest = 5min;
  const auto now = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now());
  const auto start = cluster.state == state::ClusterState::creating ? cluster.created : now;
  const Guards& guards = *cluster.guards;
  const auto end =
      first_end(guards, cluster.created, start, place.price_per_hour, spec.request.nodes);
  if (end && (has_timer || !guards.idle_stop)) launch.release_at = *end;
  if (!has_timer && guards.idle_delete && !guards.idle_stop)
    launch.release_at = end.value_or(start);
  if (end && !has_timer)
    boot.shut_down_after =
        std::max(kShortest, std::chrono::duration_cast<std::chrono::seconds>(*end - start));
}

/// Returns the maximum price of a spot machine, in the currency of the place. Older records have
/// only the price of the request, in that currency.
std::optional<Money> limit_of(const CloudSpec& spec, const Place& place) {
  if (place.max_price || !spec.request.max_price) return place.max_price;
  if (place.price_per_hour && place.price_per_hour->currency == spec.request.max_price->currency)
    return spec.request.max_price;
  throw Error(ErrorKind::local, "the maximum price of " + place.type + " in " + place.site.zone +
                                    " is on record in another currency than its price");
}

Launch launch_of(const state::Cluster& cluster, const CloudSpec& spec,
                 const CloudPlacement& placement, const std::string& owner,
                 std::span<const NodeRequest> batch, bool has_timer) {
  const Place place = place_of(spec, placement);
  const NodeRequest& first = batch.front();
  Launch launch{.marks = {cluster.id, cluster.name.value, owner},
                .site = place.site,
                .type = place.type,
                .image = placement.image,
                .network = placement.parts,
                .market = spec.request.market,
                .max_price = limit_of(spec, place),
                .disk_gib = spec.disk_gib,
                .root_device = placement.root_device,
                .data_disk = spec.request.data_disk,
                .first = first.index,
                .count = static_cast<int>(batch.size()),
                .least = 1,
                .token = batch_token(batch, place),
                .rdma = spec.rdma,
                .rdma_interfaces = spec.rdma ? place.rdma_interfaces : 0,
                .rdma_cards = spec.rdma ? place.rdma_cards : std::vector<int>(),
                .has_public_address = has_public_address(spec.public_address, first.index),
                .reservation = spec.request.reservation};
  FirstBoot boot{.user = cluster.user,
                 .authorized_keys = {first.authorized_key},
                 .host_private_key = first.host_private_key,
                 .host_public_key = first.host_public_key,
                 .data_disk_gib = spec.request.data_disk.gib};
  std::ranges::copy(spec.ssh_keys, std::back_inserter(boot.authorized_keys));
  std::ranges::copy(placement.key_pairs, std::back_inserter(boot.authorized_keys));
  set_end(launch, boot, cluster, spec, place, has_timer);
  launch.user_data = user_data(boot);
  return launch;
}

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

/// Returns true if a machine has reached the wanted state, or never will.
bool has_settled(const Machine& machine, MachineState wanted) {
  return machine.state == wanted || machine.state == MachineState::ending ||
         machine.state == MachineState::gone || machine.state == MachineState::failed;
}

std::vector<std::string> ids_to_change(std::span<const state::Node> nodes,
                                       std::span<const Machine> machines, MachineState wanted) {
  std::vector<std::string> ids;
  for (const state::Node& node : nodes) {
    const Machine* machine = machine_of(machines, node.instance_id, node.index);
    if (machine != nullptr && !has_settled(*machine, wanted)) ids.push_back(machine->id);
  }
  return ids;
}

/// Waits until the next poll. Throws timeout once kTimeout is over.
void pause_for(Polling& polling, const Cancel& cancel, const std::string& doing) {
  if (polling.waited() > kTimeout)
    throw Error(ErrorKind::timeout, doing + " took more than 10 minutes");
  polling.pause(cancel);
}

}  // namespace

void CloudProvider::check_usable() {
  if (!cloud_.has_accepted_us()) cloud_.account(stop_);
}

std::string CloudProvider::difference(const state::Cluster& there,
                                      const state::ProviderSpec& wanted) const {
  return cloud::difference(there.cloud(), std::get<CloudSpec>(wanted));
}

void CloudProvider::rename(const state::Cluster& cluster, const Cancel& cancel) {
  using RegionAndName = std::pair<std::string, std::string>;
  std::map<RegionAndName, std::vector<std::string>> ids;
  for (const Machine& machine : machines_of(cluster, cancel)) {
    const std::string& present = machine.marks.cluster_name;
    const std::string& first = machine.launched_as.empty() ? present : machine.launched_as;
    if (present != cluster.name.value) ids[{machine.site.region, first}].push_back(machine.id);
  }
  for (const auto& [where, some] : ids)
    cloud_.tag(where.first, some, {.cluster_name = cluster.name.value, .launched_as = where.second},
               cancel);
}

void CloudProvider::choose_image(const CloudSpec& spec, CloudPlacement& placement) {
  const Place place = place_of(spec, placement);
  const auto images = cloud_.images(place.site.region, spec.image, place.type, stop_);
  if (images.empty())
    throw Error(ErrorKind::not_found, "no image in " + place.site.region + " suits " + place.type);
  placement.image = images.front().id;
  placement.root_device = images.front().root_device;
  placement.key_pairs.clear();
  for (const std::string& key_pair : spec.key_pairs)
    placement.key_pairs.push_back(cloud_.public_key(place.site.region, key_pair, stop_));
}

state::Network CloudProvider::prepare(const state::Cluster& cluster, bool may_be_there) {
  const CloudSpec& spec = cluster.cloud();
  CloudPlacement placement = cluster.placement();
  const Place place = place_of(spec, placement);
  const NetworkRequest network{.marks = {cluster.id, cluster.name.value, owner_.mark()},
                               .site = place.site,
                               .vpc = user_vpc(spec, placement),
                               .ssh_from = spec.ssh_from,
                               .close_together = spec.rdma,
                               .type = place.type,
                               .may_be_there = may_be_there,
                               .known = own_parts(cluster)};
  const bool must_choose = placement.image.empty();
  // The image and the key pairs that the user named are checked first: if one is missing, nothing
  // is made.
  const bool is_named = !spec.image.empty() || !spec.key_pairs.empty();
  if (must_choose && is_named) choose_image(spec, placement);
  Parts parts;
  Tasks tasks = {[&] { parts = cloud_.make_network(network, stop_); }};
  if (must_choose && !is_named) tasks.emplace_back([&] { choose_image(spec, placement); });
  at_once(tasks);
  placement.parts = std::move(parts);
  return placement;
}

Storage CloudProvider::storage(const state::Cluster& cluster) const {
  return storage_of(cluster.cloud(), cluster.provider);
}

Provider::Places CloudProvider::places(const state::Cluster& cluster) const {
  return {.count = cluster.cloud().places.size(), .here = cluster.placement().place};
}

state::Network CloudProvider::network_at(const state::Cluster& /*cluster*/,
                                         std::size_t place) const {
  return CloudPlacement{.place = place};
}

std::optional<Money> CloudProvider::price_per_hour(const state::Cluster& cluster) const {
  return price_of(cluster);
}

std::map<int, Error> CloudProvider::launch_all(const state::Cluster& cluster,
                                               std::span<const std::vector<NodeRequest>> wanted,
                                               std::vector<Machine>& there, const Cancel& cancel) {
  const CloudSpec& spec = cluster.cloud();
  const CloudPlacement& placement = cluster.placement();
  const std::string owner = owner_.mark();
  const Limits limits = cloud_.limits();
  const auto launched = parallel_map(wanted, kLaunchesAtOnce, [&](const auto& batch) {
    Launch launch = launch_of(cluster, spec, placement, owner, batch, limits.has_timer);
    const bool is_whole = std::ranges::all_of(batch, &NodeRequest::all_or_nothing);
    if (is_whole || !limits.has_partial_launch) launch.least = launch.count;
    return cloud_.launch(launch, cancel);
  });
  std::map<int, Error> refused;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (launched[i].ok())
      std::ranges::copy(launched[i].value(), std::back_inserter(there));
    else
      for (const NodeRequest& request : wanted[i])
        refused.emplace(request.index, launched[i].error());
  }
  return refused;
}

void CloudProvider::add_unlisted(std::span<const NodeRequest> requests,
                                 std::vector<Machine>& there) {
  for (const Machine& machine : there)
    unlisted_.erase(machine.id);
  for (const NodeRequest& request : requests)
    if (const auto found = unlisted_.find(request.instance_id); found != unlisted_.end())
      there.push_back(found->second);
}

std::vector<Machine> CloudProvider::machines_of_earlier(const state::Cluster& cluster,
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
             std::ranges::find(there, request.instance_id, &Machine::id) != there.end();
    });
    if (is_complete || polling.waited() >= kListingPatience) return there;
  }
}

Results CloudProvider::create(const state::Cluster& cluster, std::span<const NodeRequest> requests,
                              const Cancel& cancel) {
  const PublicAddress which = cluster.cloud().public_address;
  const Place place = place_of(cluster);
  std::vector<Machine> there = machines_of_earlier(cluster, requests, cancel);
  std::erase_if(there, [&](const Machine& machine) { return !is_at(machine, place); });
  const std::size_t known = there.size();
  std::vector<NodeRequest> missing;
  for (const NodeRequest& request : requests)
    if (machine_of(there, request.instance_id, request.index) == nullptr)
      missing.push_back(request);

  const auto wanted = batches(missing, cloud_.limits().machines_a_launch, which);
  const auto heads = std::span(wanted).first(heads_in(wanted, which));
  const auto rest = std::span(wanted).subspan(heads.size());
  std::map<int, Error> refused = launch_all(cluster, heads, there, cancel);
  if (refused.empty())
    refused = launch_all(cluster, rest, there, cancel);
  else
    for (const NodeRequest& request : missing)
      refused.emplace(request.index, refused.begin()->second);
  for (const Machine& machine : std::span(there).subspan(known))
    unlisted_.insert_or_assign(machine.id, machine);
  Results results;
  for (const NodeRequest& request : requests) {
    const Machine* machine = machine_of(there, request.instance_id, request.index);
    if (machine != nullptr)
      results.push_back({request.name, instance_of(*machine, which)});
    else if (const auto error = refused.find(request.index); error != refused.end())
      results.push_back({request.name, error->second});
    else
      results.push_back({request.name, too_few(place, there.size(), requests.size())});
  }
  return results;
}

std::vector<Machine> CloudProvider::machines_of(const state::Cluster& cluster,
                                                const Cancel& cancel) {
  const auto regions = regions_of(cluster);
  std::vector<Machine> all;
  for (auto& found : parallel_map(std::span(regions), kCallsAtOnce, [&](const auto& region) {
         return cloud_.machines(region, cluster.id, cancel);
       }))
    std::ranges::move(std::move(found).value(), std::back_inserter(all));
  return all;
}

std::vector<Instance> CloudProvider::list(const state::Cluster& cluster) {
  return instances_of(machines_of(cluster, never_), place_of(cluster), owner_.known().value_or(""),
                      cluster.cloud().public_address);
}

/// Returns the machines once `nodes` are listed and their states are stable. Clouds refuse orders
/// for a machine that boots, a start of one that stops, and orders for one that is not known
/// everywhere yet.
std::vector<Machine> CloudProvider::await_rest(const state::Cluster& cluster,
                                               std::span<const state::Node> nodes,
                                               const Change& change, const Cancel& cancel) {
  const std::string region = place_of(cluster).site.region;
  for (Polling polling(wait_);; pause_for(polling, cancel, change.doing)) {
    std::vector<Machine> there = cloud_.machines(region, cluster.id, cancel);
    const auto is_awaited = [&](const state::Node& node) {
      const Machine* machine = machine_of(there, node.instance_id, node.index);
      if (machine == nullptr) return polling.waited() < kListingPatience;
      return machine->state == MachineState::pending ||
             (machine->state == MachineState::stopping && change.wanted != MachineState::stopped);
    };
    if (std::ranges::none_of(nodes, is_awaited)) return there;
  }
}

Results CloudProvider::change(const state::Cluster& cluster, std::span<const state::Node> nodes,
                              const Change& change, const Cancel& cancel) {
  const std::string region = place_of(cluster).site.region;
  const PublicAddress which = cluster.cloud().public_address;
  std::vector<Machine> there = await_rest(cluster, nodes, change, cancel);
  for (const auto& ids : chunks(ids_to_change(nodes, there, change.wanted), machines_a_call()))
    change.ask(region, ids);
  Polling polling(wait_);
  const auto has_settled_here = [&](const state::Node& node) {
    const Machine* machine = machine_of(there, node.instance_id, node.index);
    return machine == nullptr || has_settled(*machine, change.wanted);
  };
  for (;;) {
    there = cloud_.machines(region, cluster.id, cancel);
    if (std::ranges::all_of(nodes, has_settled_here)) break;
    pause_for(polling, cancel, change.doing);
  }
  Results results;
  for (const state::Node& node : nodes) {
    const Machine* machine = machine_of(there, node.instance_id, node.index);
    if (machine != nullptr && machine->state == change.wanted)
      results.push_back({node.name, instance_of(*machine, which)});
    else
      results.push_back({node.name, Error(ErrorKind::remote,
                                          change.doing + ": " + node.instance_id + " is gone")});
  }
  return results;
}

Results CloudProvider::start(const state::Cluster& cluster, std::span<const state::Node> nodes,
                             const Cancel& cancel) {
  return change(
      cluster, nodes,
      {.doing = "starting machines",
       .wanted = MachineState::running,
       .ask = [&](const std::string& region,
                  std::span<const std::string> ids) { cloud_.start(region, ids, cancel); }},
      cancel);
}

Results CloudProvider::stop(const state::Cluster& cluster, std::span<const state::Node> nodes,
                            const Cancel& cancel) {
  return change(
      cluster, nodes,
      {.doing = "stopping machines",
       .wanted = MachineState::stopped,
       .ask = [&](const std::string& region,
                  std::span<const std::string> ids) { cloud_.stop(region, ids, cancel); }},
      cancel);
}

Results CloudProvider::destroy(const state::Cluster& cluster, std::span<const state::Node> nodes) {
  const bool must_look = lacks_an_id(nodes) || regions_of(cluster).size() > 1;
  const std::string here = place_of(cluster).site.region;
  std::vector<Machine> there;
  if (must_look) there = machines_of(cluster, never_);
  std::map<std::string, std::vector<std::string>> ids;
  for (const std::string& id : ids_of(nodes, there)) {
    const auto machine = std::ranges::find(there, id, &Machine::id);
    ids[machine == there.end() ? here : machine->site.region].push_back(id);
  }
  for (const auto& [region, all] : ids) {
    terminate(region, all);
    told_.insert(all.begin(), all.end());
  }
  Results results;
  for (const state::Node& node : nodes)
    results.push_back({node.name, Instance{.index = node.index,
                                           .id = node.instance_id,
                                           .token = node.token,
                                           .state = InstanceState::gone}});
  return results;
}

void CloudProvider::terminate(const std::string& region, const std::vector<std::string>& ids) {
  const auto calls = chunks(ids, machines_a_call());
  throw_first(parallel_map(std::span(calls), kCallsAtOnce,
                           [&](const auto& some) { cloud_.terminate(region, some); }));
}

bool CloudProvider::all_have_ended(const std::string& region, const state::ClusterId& cluster,
                                   Told& told, std::chrono::milliseconds now) {
  std::vector<std::string> alive;
  bool is_empty = true;
  for (const Machine& machine : cloud_.machines(region, cluster, never_)) {
    is_empty = is_empty && machine.state == MachineState::gone;
    if (machine.state == MachineState::ending || machine.state == MachineState::gone) continue;
    const auto before = told.find(machine.id);
    if (before == told.end() || now - before->second >= kTellAgain) alive.push_back(machine.id);
  }
  terminate(region, alive);
  for (const std::string& id : alive)
    told[id] = now;
  return is_empty;
}

void CloudProvider::end_in(const std::string& region, const state::ClusterId& cluster,
                           const Parts& known) {
  Told told;
  for (const std::string& id : told_)
    told.emplace(id, 0);
  // Machines that were ordered to end a moment ago are not gone yet.
  for (Polling polling(wait_);;) {
    pause_for(polling, never_,
              "removing the resources of cluster " + cluster.value + " in " + region);
    if (!all_have_ended(region, cluster, told, polling.waited())) continue;
    try {
      cloud_.remove_network(region, cluster, known);
      return;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::conflict || polling.waited() > kTimeout) throw;
    }
  }
}

void CloudProvider::release(const state::Cluster& cluster) {
  const auto regions = regions_of(cluster);
  const std::string here = place_of(cluster).site.region;
  const Parts known = own_parts(cluster);
  throw_first(parallel_map(std::span(regions), kCallsAtOnce, [&](const std::string& region) {
    end_in(region, cluster.id, region == here ? known : Parts());
  }));
}

Orphans CloudProvider::orphans(std::span<const state::ClusterId> known) {
  const auto owner = owner_.known();
  if (!owner || !cloud_.has_credentials()) return {};
  return find_orphans(cloud_, *owner, known, stop_);
}

void CloudProvider::remove_orphan(const Orphan& orphan) {
  if (orphan.kind == Orphan::Kind::instance) {
    cloud_.terminate(orphan.region, std::span(&orphan.id, 1));
  } else if (orphan.kind == Orphan::Kind::image) {
    for (const OwnImage& image : cloud_.own_images(orphan.region, never_))
      if (image.image.id == orphan.id) cloud_.remove_image(orphan.region, image);
  } else {
    end_in(orphan.region, orphan.cluster, {});
  }
}

}  // namespace fastgpu::provision::cloud
