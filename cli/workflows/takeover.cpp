#include "cli/workflows/takeover.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "base/file_status.hpp"
#include "base/join.hpp"
#include "base/parallel.hpp"
#include "cli/workflows/cloud_factory.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/lease.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "cli/workflows/reversible_changes.hpp"
#include "cli/workflows/user_ssh.hpp"
#include "provision/bring_up.hpp"
#include "provision/cloud/batches.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/known_names.hpp"
#include "provision/cloud/ownership.hpp"
#include "provision/cluster_keys.hpp"
#include "provision/held_cluster.hpp"
#include "provision/polling.hpp"
#include "provision/takeover.hpp"
#include "ssh/identity.hpp"
#include "ssh/keys.hpp"
#include "ssh/scan.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

namespace cloud = provision::cloud;
using TaggedMachine = cloud::Machine;
using provision::ClusterRecord;
using provision::run_step;

constexpr std::size_t kRegionsAtOnce = 32;
constexpr std::chrono::seconds kTakeoverTimeout{60};
constexpr std::chrono::minutes kStartLimit{10};

/// Returns the given regions, or the cloud's usual ones. Throws not_found, with the nearest known
/// name, for a region that the cloud does not have.
std::vector<std::string> regions_of(Services& services, const TakeoverRequest& request) {
  std::vector<std::string> regions = request.regions;
  cloud::Cloud* const api = &services.cloud(request.provider);
  for (const std::string& region : regions)
    cloud::clouds_with_region({&api, 1}, region, services.cancel());
  if (regions.empty())
    for (const std::string_view region : cloud::usual_regions(request.provider))
      regions.emplace_back(region);
  return regions;
}

/// Returns the machines of the wanted cluster in the given regions, or in the cloud's usual ones.
std::vector<TaggedMachine> find_machines(Services& services, const TakeoverRequest& request) {
  const std::vector<std::string> regions = regions_of(services, request);
  cloud::Cloud& api = services.cloud(request.provider);
  std::vector<TaggedMachine> all;
  std::optional<Error> failure;
  for (auto& answer : parallel_map(std::span<const std::string>(regions), kRegionsAtOnce,
                                   [&](const std::string& region) {
                                     return api.machines(region, {}, services.cancel());
                                   })) {
    if (answer.ok())
      std::ranges::move(std::move(answer).value(), std::back_inserter(all));
    else
      failure = answer.error();
  }
  services.cancel().check();
  try {
    return cloud::machines_named(all, request.name.value, request.id);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::not_found) throw;
    const std::string searched =
        request.provider + " was searched in " + joined(regions) + ": " + e.what();
    if (!failure) throw Error(e.kind(), searched);
    throw Error(failure->kind(), searched + "; it may be in a region that could not be searched: " +
                                     failure->what());
  }
}

/// Throws if a machine does not run: during the takeover every node must receive our key and prove
/// its identity.
void check_running(std::span<const TaggedMachine> machines) {
  for (const TaggedMachine& machine : machines)
    if (machine.state != cloud::MachineState::running)
      throw Error(ErrorKind::conflict, "machine " + machine.id + " (node " +
                                           std::to_string(machine.index) +
                                           ") is not running: every node must run to receive a "
                                           "key. --start starts stopped nodes");
}

struct FoundMachines {
  std::vector<TaggedMachine> machines{};
  TaggedMachine head{};
};

FoundMachines checked(std::vector<TaggedMachine> machines) {
  check_running(machines);
  TaggedMachine head = cloud::head_of(machines);
  return {std::move(machines), std::move(head)};
}

/// Returns the address at which we reach the head node. A machine without a public address must be
/// in a network that we are in, too.
std::string address_of(const TaggedMachine& head) {
  return (head.address.empty() ? head.private_address : head.address).text();
}

/// Returns true once the machine is running and has an address.
bool is_up(const TaggedMachine& machine) {
  return machine.state == cloud::MachineState::running && !address_of(machine).empty();
}

std::vector<std::string> stopped_among(std::span<const TaggedMachine> machines) {
  std::vector<std::string> ids;
  for (const TaggedMachine& machine : machines)
    if (machine.state == cloud::MachineState::stopped) ids.push_back(machine.id);
  return ids;
}

/// Starts the stopped machines and waits until they run. Returns all machines in their new state.
std::vector<TaggedMachine> started(Services& services, const TakeoverRequest& request,
                                   std::vector<TaggedMachine> machines) {
  cloud::Cloud& api = services.cloud(request.provider);
  const cloud::OwnerTags marks = machines.front().marks;
  const std::string region = machines.front().site.region;
  const auto most = static_cast<std::size_t>(api.limits().machines_a_call);
  provision::Polling polling(
      [&](std::chrono::milliseconds pause, const Cancel&) { services.clock().sleep(pause); });
  while (!std::ranges::all_of(machines, is_up)) {
    for (const auto& ids : cloud::chunks(stopped_among(machines), most))
      api.start(region, ids, services.cancel());
    if (polling.waited() > kStartLimit)
      throw Error(ErrorKind::timeout, "the machines of cluster '" + request.name.value +
                                          "' did not start in 10 minutes");
    polling.pause(services.cancel());
    machines = cloud::machines_named(api.machines(region, marks.cluster, services.cancel()),
                                     request.name.value, "");
  }
  return machines;
}

std::string identity_for(Services& services, const TakeoverRequest& request,
                         const state::ClusterId& cluster) {
  if (!request.identity.empty()) return request.identity;
  const auto ours = state::identity_file(services.state_directory(), cluster);
  if (path_exists(ours)) return ours.string();
  return services.environment()("HOME").value_or("/") + "/.ssh/id_ed25519";
}

void check_fingerprint(const TaggedMachine& head) {
  if (!head.host_key.empty()) return;
  throw Error(ErrorKind::conflict,
              "machine " + head.id +
                  ", the head node, has no host key fingerprint in its tags: its cluster was "
                  "created with --detach and not used since, is incomplete, or could not be "
                  "marked. Use its nodes "
                  "(`fastgpu exec`) on the machine that manages it to write the tag");
}

/// Throws for every fault of the request that shows without a change of the cluster: of our key, of
/// the name here, and of the machines' tags.
void check_before_change(Services& services, const TakeoverRequest& request,
                         std::span<const TaggedMachine> machines) {
  const TaggedMachine& head = cloud::head_of(machines);
  ssh::Identity::load(identity_for(services, request, head.marks.cluster));
  provision::check_name_for(services.store(), request.name, head.marks.cluster);
  check_fingerprint(head);
  if (!request.starts) check_running(machines);
}

FoundMachines find(Services& services, const provision::Tools& tools,
                   const TakeoverRequest& request, ReversibleChanges& changes) {
  std::vector<TaggedMachine> machines = find_machines(services, request);
  check_before_change(services, request, machines);
  const std::vector<std::string> stopped = stopped_among(machines);
  if (request.starts && !stopped.empty()) {
    const std::string region = machines.front().site.region;
    changes.add(counted(stopped.size(), "machine") + " that it started and that cost" +
                    (stopped.size() == 1 ? "s" : "") + " money: " + joined(stopped),
                [&services, &request, region, stopped] {
                  cloud::Cloud& api = services.cloud(request.provider);
                  const auto most = static_cast<std::size_t>(api.limits().machines_a_call);
                  for (const auto& ids : cloud::chunks(stopped, most))
                    api.stop(region, ids, Cancel());
                });
    run_step(tools, "starting stopped machines",
             [&] { machines = started(services, request, std::move(machines)); });
  }
  return checked(std::move(machines));
}

/// Finds the machines again once we have the lease: another change may have ended in between.
FoundMachines look_again(Services& services, const TakeoverRequest& request,
                         const FoundMachines& before) {
  const TaggedMachine& head = before.head;
  FoundMachines now = checked(
      cloud::machines_named(services.cloud(request.provider)
                                .machines(head.site.region, head.marks.cluster, services.cancel()),
                            request.name.value, ""));
  if (now.head.id == head.id) return now;
  throw Error(ErrorKind::conflict, "cluster '" + request.name.value +
                                       "' has just received another head node: try again");
}

/// Lets the request's ranges log in. Returns those that could not do so before.
std::vector<IpRange> open_port(Services& services, const TakeoverRequest& request,
                               const TaggedMachine& head, ReversibleChanges& changes) {
  cloud::Cloud& api = services.cloud(request.provider);
  std::vector<IpRange> opened = request.ssh_from;
  if (opened.empty()) opened = {services.clouds().own_address()};
  cloud::NetworkRequest network = {.marks = head.marks, .site = head.site, .vpc = head.vpc};
  const std::vector<IpRange> there = api.open_ranges(network, services.cancel());
  std::erase_if(opened, [&](const IpRange& range) { return contains(there, range); });
  network.ssh_from = opened;
  std::string ranges;
  for (const IpRange& range : opened)
    append_item(ranges, range.text());
  if (!opened.empty())
    changes.add("port 22, which is open to " + ranges,
                [&api, network] { api.close_ranges(network, Cancel()); });
  api.make_network(network, services.cancel());
  return opened;
}

/// Returns the key that the head node shows. Throws if it does not match the fingerprint in the
/// node's tag.
std::string verified_key(Services& services, const TaggedMachine& head) {
  const ssh::Host host{.name = {"the head node"}, .address = address_of(head)};
  const auto shown = ssh::scan_host_keys({&host, 1}, kTakeoverTimeout, services.cancel());
  const std::string& key = shown.front().value();
  const std::string fingerprint = ssh::fingerprint(key);
  if (cloud::host_key_mark(fingerprint) != head.host_key)
    throw Error(ErrorKind::denied,
                "the host at " + address_of(head) + " is not machine " + head.id +
                    ": its host key is " + fingerprint + ", but the machine's tag " +
                    std::string(cloud::kHostKeyTag) + " is " + printable(head.host_key));
  return key;
}

/// Returns the record on the head node. Throws remote if it contradicts the cloud: if it has
/// another cluster, host key or place than the machine.
ClusterRecord checked_record(launcher::HeadNode& head, const TaggedMachine& machine,
                             const TakeoverRequest& request, const Cancel& cancel) {
  ClusterRecord record =
      provision::parse_cluster_record(head.record(provision::kLargestRecord, cancel));
  if (record.cluster.id != machine.marks.cluster || record.cluster.provider != request.provider)
    throw Error(ErrorKind::remote, "the record on machine " + machine.id + " is for cluster " +
                                       record.cluster.id.value + " of " + record.cluster.provider +
                                       ", but its tags name " + machine.marks.cluster.value);
  if (record.nodes.front().host_keys != head.host().host_keys)
    throw Error(ErrorKind::remote,
                "the record on machine " + machine.id + " has a different host key for it");
  try {
    const std::vector<cloud::Place>& places = record.cluster.cloud().places;
    const std::size_t here = record.cluster.placement().place;
    if (here < places.size() && cloud::is_at(machine, places[here])) return record;
  } catch (const Error& e) {
    throw Error(ErrorKind::remote, "the record on machine " + machine.id + ": " + e.what());
  }
  throw Error(ErrorKind::remote, "the record on machine " + machine.id +
                                     " names a different place than that of the machine");
}

ssh::Host as_user(const state::Cluster& cluster, const state::Node& node,
                  const std::string& identity) {
  return {.name = node.name,
          .address = node.address,
          .port = node.port,
          .user = node.user.empty() ? cluster.user : node.user,
          .identity = identity,
          .host_keys = node.host_keys};
}

/// Returns the task, for every running node, of calling the agent with these words.
std::vector<launcher::NodeTask> tasks_for(Services& services, const state::Cluster& cluster,
                                          const std::vector<state::Node>& nodes,
                                          const std::string& identity,
                                          const std::vector<std::string>& words) {
  std::vector<launcher::NodeTask> tasks;
  for (const state::Node& node : nodes) {
    if (node.state != state::NodeState::running) continue;
    ssh::Host host = as_user(cluster, node, identity);
    if (has_head_alone(cluster) && is_behind_head(node))
      host.jumps = {as_user(cluster, nodes.front(), identity)};
    tasks.push_back({std::move(host), remote::agent_command(services.agent().hash, words)});
  }
  return tasks;
}

/// Adds our key to the keys that the nodes accept. A key that an earlier takeover has made stays
/// after a failure.
void put_keys(Services& services, const provision::Tools& tools, const state::Cluster& cluster,
              const std::vector<state::Node>& nodes, const std::string& identity,
              ReversibleChanges& changes) {
  const std::string mark =
      "fastgpu-" + cluster.id.value + "-" + services.owner(cluster.provider).mark();
  const auto ask = [&services, cluster, nodes, identity](const std::vector<std::string>& words,
                                                         const Cancel& cancel) {
    check(launcher::ask_agent(services.ssh(), tasks_for(services, cluster, nodes, identity, words),
                              services.agent(), kTakeoverTimeout, cancel),
          words.front() == "access-add" ? "adding a key" : "removing a key");
  };
  const auto directory = services.state_directory();
  if (!path_exists(state::identity_file(directory, cluster.id)))
    changes.add("its key " + mark + " on the nodes", [ask, mark, directory, id = cluster.id] {
      ask({"access-remove", mark}, Cancel());
      provision::remove_key_files(directory, id);
    });
  provision::make_cluster_key(tools, cluster);
  fault_point("takeover:key_made");
  const auto key = provision::authorized_key(directory, cluster.id);
  ask({"access-add", key.value_or("") + " " + mark}, services.cancel());
  fault_point("takeover:keys_put");
}

/// Stores the cluster and the ways into its nodes here. The cluster is not ours yet.
provision::ClusterView adopt(Services& services, const provision::Tools& tools,
                             const TakeoverRequest& request, const ClusterRecord& record,
                             const FoundMachines& found, const std::string& identity,
                             ReversibleChanges& changes) {
  const cloud::CloudSpec& spec = record.cluster.cloud();
  const cloud::Place& place = spec.places[record.cluster.placement().place];
  const auto instances = cloud::instances_of(
      found.machines, place, services.owner(request.provider).mark(), spec.public_address);
  const auto unrecorded =
      request.ends_unrecorded ? provision::Unrecorded::remove : provision::Unrecorded::refuse;
  provision::check_adoptable(tools, record, instances, unrecorded);
  run_step(tools, "installing our key on the nodes", [&] {
    put_keys(services, tools, record.cluster, provision::recovered(record, instances).nodes,
             identity, changes);
  });
  auto view = provision::adopt_cluster(tools, record, instances, unrecorded);
  changes.keep();
  return view;
}

void mark_machines(Services& services, const state::Cluster& cluster,
                   std::span<const TaggedMachine> machines, const std::string& taken) {
  const cloud::Tags tags{.owner = services.owner(cluster.provider).mark(), .taken = taken};
  std::vector<std::string> ids;
  for (const TaggedMachine& machine : machines)
    if (machine.marks.owner != tags.owner) ids.push_back(machine.id);
  if (!ids.empty())
    services.cloud(cluster.provider)
        .tag(machines.front().site.region, ids, tags, services.cancel());
  fault_point("takeover:marked");
}

/// Adds the ranges that the takeover opened to the record, so that they can be closed again.
void note_opened(ClusterRecord& record, const std::vector<IpRange>& opened) {
  state::CloudSpec spec = record.cluster.cloud();
  for (const IpRange& range : opened)
    if (!contains(spec.ssh_from, range)) spec.ssh_from.push_back(range);
  record.cluster.provider_spec = std::move(spec);
}

provision::ClusterView take(Services& services, const provision::Tools& tools,
                            const TakeoverRequest& request, ReversibleChanges& changes) {
  FoundMachines found;
  run_step(tools, "looking for cluster " + request.name.value,
           [&] { found = find(services, tools, request, changes); });
  const std::vector<IpRange> opened = open_port(services, request, found.head, changes);
  const ssh::Host host{.name = {request.name.value + "-" + std::to_string(found.head.index)},
                       .address = address_of(found.head),
                       .user = request.user,
                       .identity = identity_for(services, request, found.head.marks.cluster),
                       .host_keys = {verified_key(services, found.head)}};
  launcher::HeadNode head(services.ssh(), host, services.agent());
  const Lease lease(
      services, host,
      {request.name.value, request.provider, tools.lock_timeout, true, request.breaks_lease});
  fault_point("takeover:leased");
  found = look_again(services, request, found);
  ClusterRecord record = checked_record(head, found.head, request, services.cancel());
  note_opened(record, opened);
  const state::ClusterLock lock = provision::lock_cluster(tools, record.cluster.name);
  const auto view = adopt(services, tools, request, record, found, host.identity, changes);
  const std::string taken =
      cloud::taken_mark(std::chrono::system_clock::now(), login_name(), own_host_name());
  mark_machines(services, view.cluster, found.machines, taken);
  head.own(services.owner(request.provider).mark(), taken, services.cancel());
  fault_point("takeover:owned");
  write_record(services, view.cluster, head);
  return view;
}

}  // namespace

provision::ClusterView take_over(Services& services, const provision::Tools& tools,
                                 const TakeoverRequest& request) {
  ReversibleChanges changes;
  try {
    return take(services, tools, request, changes);
  } catch (const Error& e) {
    if (changes.is_kept())
      throw Error(e.kind(), std::string(e.what()) + "; the same command completes the takeover");
    throw Error(e.kind(), e.what() + changes.undo());
  }
}

std::vector<std::string> plan_takeover(Services& services, const TakeoverRequest& request) {
  std::vector<TaggedMachine> machines = find_machines(services, request);
  check_before_change(services, request, machines);
  std::vector<std::string> steps;
  for (const std::string& id : stopped_among(machines))
    if (request.starts) steps.push_back("start machine " + id);
  if (steps.empty()) check_running(machines);
  const TaggedMachine head = cloud::head_of(machines);
  steps.push_back("open port 22 of machine " + head.id + ", the head node, for this machine");
  for (const TaggedMachine& machine : machines)
    steps.push_back("give machine " + machine.id + " our key and our mark");
  return steps;
}

}  // namespace fastgpu::cli
