#include "cli/commands/show/descriptions.hpp"
#include "cli/commands/shared/offer_views.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/shared/machine.hpp"
#include "cli/commands/show/description_parts.hpp"
#include "cli/commands/show/job_views.hpp"
#include "cli/ui/text.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "launcher/gpu_order.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using state::TimePoint;

constexpr std::uint16_t kSshPort = 22;

std::string duration_text(const std::optional<std::chrono::seconds>& time) {
  return time ? to_string(std::chrono::milliseconds(*time)) : "";
}

std::string gib_text(int gib) {
  return gib > 0 ? std::to_string(gib) + " GiB" : "";
}

/// Returns the number of running nodes: "3 of 4 running".
std::string running_text(const ClusterAndNodes& shown) {
  std::string text = std::to_string(running_nodes_of(shown)) + " of " +
                     std::to_string(shown.nodes.size()) + " running";
  if (!shown.silences.empty())
    text += ", " + std::to_string(shown.silences.size()) + " unreachable";
  return text;
}

/// Returns the type and properties of the cluster's machines; empty for the user's own machines.
Json machine_section(const state::Cluster& cluster) {
  const MachineSummary machine = machine_of(cluster);
  Json section = Json::object();
  put_line(section, "type", machine.type);
  put_line(section, "GPUs", machine.gpus);
  put_line(section, "region", machine.region);
  put_line(section, "zone", machine.zone);
  put_line(section, "market", machine.market);
  if (!machine.type.empty()) section["price"] = price_text(machine.price, 1);
  return section;
}

std::vector<std::string> texts_of(std::span<const IpRange> ranges) {
  std::vector<std::string> texts;
  for (const IpRange& range : ranges)
    texts.push_back(range.text());
  return texts;
}

/// Returns the label for a part of the cloud's network: "security group" for "security-group".
std::string part_label(std::string name) {
  std::ranges::replace(name, '-', ' ');
  if (name == "vpc") return "VPC";
  return name;
}

std::string public_address_text(provision::cloud::PublicAddress which) {
  using enum provision::cloud::PublicAddress;
  switch (which) {
    case all:
      return "";
    case head:
      return "only the first node";
    case none:
      return "none";
  }
  return "";
}

/// Adds what the cloud has for the cluster apart from its machines, as recorded.
void put_cloud(Json& description, const state::Cluster& cluster) {
  const state::CloudSpec& spec = cluster.cloud();
  const state::CloudPlacement& status = cluster.placement();
  Json& machine = description["machine"];
  put_line(machine, "image",
           spec.image.empty() || spec.image == status.image ? status.image
                                                            : spec.image + " " + status.image);
  put_line(machine, "system disk", gib_text(spec.disk_gib));
  if (spec.rdma) machine["RDMA"] = "yes";
  Json network = Json::object();
  for (const auto& [name, id] : status.parts)
    put_line(network, part_label(name), id);
  put_line(network, "public addresses", public_address_text(spec.public_address));
  put_line(network, "SSH from", joined(texts_of(spec.ssh_from)));
  put_part(description, "network", std::move(network));
  Json storage = Json::object();
  const provision::DataDisk& disk = spec.request.data_disk;
  if (disk.gib > 0)
    storage["data disk"] = gib_text(disk.gib) + (disk.type.empty() ? "" : " " + disk.type) +
                           " at " + std::string(provision::kDataPath);
  for (const provision::Mount& mount : spec.mounts)
    storage[mount.path] = mount.source;
  put_part(description, "storage", std::move(storage));
}

void put_network(Json& description, const state::Cluster& cluster) {
  if (provision::is_cloud(cluster.provider)) return put_cloud(description, cluster);
  put_line(description, "network", network_word(cluster));
  if (!provision::provider_info(cluster.provider).has_local_nodes) return;
  if (const auto rate = cluster.local().link_rate) description["link rate"] = to_string(*rate);
}

bool costs_nothing(const GuardStatus& status) {
  return status.price && status.price->amount == 0;
}

Json cost_section(const GuardStatus& status) {
  Json section = Json::object();
  if (costs_nothing(status)) return section;
  section["now"] =
      status.price ? price_text(status.spending.per_hour, 1) : std::string("price unknown");
  if (status.price) section["so far"] = to_string(status.spending.so_far);
  return section;
}

Json guards_section(const GuardStatus& status, TimePoint now) {
  const provision::Guards& guards = status.guards;
  Json section = Json::object();
  put_line(section, "max life", duration_text(guards.max_life));
  if (guards.max_cost) section["max cost"] = to_string(*guards.max_cost);
  put_line(section, "unattended", duration_text(guards.unattended));
  put_line(section, "idle stop", duration_text(guards.idle_stop));
  put_line(section, "idle delete", duration_text(guards.idle_delete));
  if (status.end)
    section["ends"] =
        time_text(status.end->when, now) + " by " + std::string(cause_word(status.end->cause));
  return section;
}

Json taken_back_table(std::span<const Notice> notices) {
  Json table = Json::array();
  for (const Notice& notice : notices) {
    Json row;
    row["node"] = notice.node.value;
    row["when"] = time_json(notice.taken_back);
    row["at risk since"] = time_json(notice.at_risk);
    table.push_back(std::move(row));
  }
  return table;
}

/// Returns "10.0.0.1", or "10.0.0.1:2222" if the port is not the usual one.
std::string address_text(const std::string& address, std::uint16_t port) {
  if (address.empty() || port == kSshPort) return address;
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

std::string inner_address(const state::Node& node) {
  return node.private_address == node.address ? "" : node.private_address;
}

std::string cost_word(const GuardStatus& status, const state::Node& node, TimePoint now) {
  if (costs_nothing(status)) return "";
  const auto cost = cost_of(status, node, now);
  return cost ? to_string(*cost) : "?";
}

/// Returns the table without the columns that are empty in all rows.
Json without_empty_columns(const Json& table) {
  Json out = Json::array();
  for (const Json& row : table) {
    out.push_back(Json::object());
    for (const auto& [key, value] : row.items())
      if (std::ranges::any_of(table, [&, &name = key](const Json& one) {
            return !one[name].is_null() && one[name] != "";
          }))
        out.back()[key] = value;
  }
  return out;
}

Json nodes_table(const ClusterAndNodes& shown, TimePoint now) {
  Json table = Json::array();
  for (const state::Node& node : shown.nodes) {
    Json row;
    row["name"] = node.name.value;
    row["state"] = state_word(shown, node);
    row["address"] = address_text(node.address, node.port);
    row["private address"] = inner_address(node);
    row["slots"] = node.slots;
    row["instance"] = node.instance_id;
    row["cost"] = cost_word(shown.status, node, now);
    table.push_back(std::move(row));
  }
  return without_empty_columns(table);
}

Json jobs_table(std::span<const state::Job> jobs, const state::ClusterId& cluster, TimePoint now) {
  Json table = Json::array();
  for (const state::Job& job : jobs) {
    if (job.cluster != cluster || job.ended) continue;
    Json row;
    row["job"] = job.id;
    row["state"] = state_word(job);
    row["age"] = age(job.created, now);
    table.push_back(std::move(row));
  }
  return table;
}

/// Returns when the node's present machine started to run.
std::optional<TimePoint> running_since(const GuardStatus& status, const state::Node& node) {
  for (const state::Run& run : status.runs)
    if (run.index == node.index && !run.ended) return run.began;
  return std::nullopt;
}

/// Returns the jump hosts on the way to the node, the nearest one first.
std::string way_text(const state::Node& node) {
  std::string text;
  for (const state::JumpHost& jump : node.jumps)
    append_item(text,
                jump.user + (jump.user.empty() ? "" : "@") + address_text(jump.address, jump.port));
  return text;
}

std::string speed_text(std::int64_t mbit) {
  constexpr double kMbitAGbit = 1e3;
  return mbit > 0 ? number_text(static_cast<double>(mbit) / kMbitAGbit) + " Gbit/s" : "";
}

Json rdma_table(std::span<const RdmaPort> ports) {
  Json table = Json::array();
  for (const RdmaPort& port : ports) {
    Json row;
    row["device"] = port.device;
    row["port"] = port.number;
    row["driver"] = plain_driver_name(port.driver);
    row["state"] = port.state;
    row["speed"] = speed_text(port.mbit);
    row["link"] = port.link_layer;
    row["interface"] = port.interface;
    row["NUMA node"] = port.numa_node ? Json(*port.numa_node) : Json();
    table.push_back(std::move(row));
  }
  return without_empty_columns(table);
}

Json gids_table(std::span<const RdmaPort> ports) {
  Json table = Json::array();
  for (const RdmaPort& port : ports)
    for (const RdmaGid& gid : port.gids) {
      Json row;
      row["device"] = port.device;
      row["port"] = port.number;
      row["index"] = gid.index;
      row["GID"] = gid.gid;
      row["type"] = gid.type;
      row["interface"] = gid.interface;
      table.push_back(std::move(row));
    }
  return without_empty_columns(table);
}

/// Adds the RDMA devices of a node, and what prevents their use.
void put_rdma(Json& description, const NodeReport& report) {
  if (!report.failure.empty()) {
    description["RDMA devices"] = "unknown: " + report.failure;
    return;
  }
  put_part(description, "RDMA devices", rdma_table(report.ports));
  put_part(description, "RDMA addresses", gids_table(report.ports));
  put_line(description, "RDMA obstacle", report.obstacle);
}

/// Adds the GPUs of a node, and the pairs that NVLink joins by their numbers.
void put_gpus(Json& description, const agent::MachineTopology& topology) {
  Json table = Json::array();
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    const agent::NearDevice& gpu = topology.gpus[i];
    table.push_back(Json{{"GPU", i}, {"address", gpu.name}});
    table.back()["NUMA node"] = gpu.numa >= 0 ? Json(gpu.numa) : Json();
  }
  put_part(description, "GPUs", without_empty_columns(table));
  Json links = Json::object();
  for (const launcher::LinkedPairs& group : launcher::linked_pairs(topology))
    links[counted(static_cast<std::size_t>(group.links), "link")] = joined(group.pairs);
  put_part(description, "NVLink", std::move(links));
  if (topology.is_gpu_tool_silent)
    description["NVLink"] = "unknown: nvidia-smi does not answer on this node";
}

}  // namespace

std::optional<Money> cost_of(const GuardStatus& status, const state::Node& node, TimePoint now) {
  if (!status.price) return std::nullopt;
  std::vector<state::Run> runs = status.runs;
  std::erase_if(runs, [&](const state::Run& run) { return run.index != node.index; });
  return provision::spending_of(runs, *status.price, now).so_far;
}

Json description_of(const ClusterAndNodes& shown, std::span<const state::Job> jobs,
                    const OpenChanges& open, TimePoint now) {
  const state::Cluster& cluster = shown.cluster;
  Json out;
  out["name"] = cluster.name.value;
  out["id"] = cluster.id.value;
  out["provider"] = cluster.provider;
  out["state"] = state::to_string(cluster.state);
  if (!shown.owner.empty()) out["taken over by"] = shown.owner;
  if (open.unfinished > 0)
    out["unfinished"] = counted(open.unfinished, "change") +
                        ", in progress or interrupted: fastgpu gc finishes interrupted ones";
  if (open.late_machines > 0)
    out["given up"] = counted(open.late_machines, "machine") +
                      " that the cloud may still list: fastgpu gc ends what has appeared";
  if (open.unmet_nodes > 0)
    out["not reached"] = counted(open.unmet_nodes, "node") +
                         " so far: the first command that uses the nodes waits for them";
  out["size"] = running_text(shown);
  put_line(out, "user", cluster.user);
  out["created"] = time_text(cluster.created, now);
  put_part(out, "machine", machine_section(cluster));
  put_network(out, cluster);
  put_part(out, "cost", cost_section(shown.status));
  if (has_own_slurm(shown.cluster)) out["scheduler"] = "slurm";
  put_part(out, "guards", guards_section(shown.status, now));
  put_part(out, "taken back", without_empty_columns(taken_back_table(shown.notices)));
  put_part(out, "nodes", nodes_table(shown, now));
  put_part(out, "jobs", jobs_table(jobs, cluster.id, now));
  return out;
}

Json description_of(const state::Node& node, const ClusterAndNodes& shown,
                    const std::optional<NodeReport>& report, TimePoint now) {
  Json out;
  out["name"] = node.name.value;
  put_line(out, "cluster", shown.cluster.name.value);
  out["state"] = state_word(shown, node);
  if (const state::Silence* const silence = shown.silence_of(node)) {
    out["no answer since"] = time_text(silence->since, now);
    out["last tried"] = time_text(silence->tried, now);
    put_line(out, "reason", silence->reason);
  }
  if (const auto since = running_since(shown.status, node))
    out["running since"] = time_text(*since, now);
  out["slots"] = std::to_string(node.slots);
  put_line(out, "user", node.user);
  put_line(out, "address", address_text(node.address, node.port));
  put_line(out, "private address", inner_address(node));
  put_line(out, "reached through", way_text(node));
  put_line(out, "instance", node.instance_id);
  put_part(out, "machine", machine_section(shown.cluster));
  put_line(out, "cost so far", cost_word(shown.status, node, now));
  if (report && report->topology) put_gpus(out, *report->topology);
  if (report) put_rdma(out, *report);
  put_part(out, "host keys", Json(node.host_keys));
  return out;
}

}  // namespace fastgpu::cli
