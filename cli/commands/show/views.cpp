#include "cli/commands/show/views.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/json.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/commands/shared/machine.hpp"
#include "cli/commands/shared/offer_views.hpp"
#include "cli/commands/show/field_values.hpp"
#include "cli/ui/text.hpp"
#include "provision/providers.hpp"
#include "state/record_text.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

std::string running_of_all(const ClusterAndNodes& shown) {
  return std::to_string(running_nodes_of(shown)) + "/" + std::to_string(shown.nodes.size());
}

std::string price_cell(const GuardStatus& status) {
  if (!status.price) return "?";
  if (status.price->amount == 0) return "0/h";
  return price_text(status.spending.per_hour, 1);
}

std::string end_text(const GuardStatus& status, state::TimePoint now) {
  if (status.ended) return "ended";
  if (!status.end) return "never";
  if (status.end->when <= now) return "now";
  return "in " + age(now, status.end->when);
}

Json seconds_json(const std::optional<std::chrono::seconds>& time) {
  return time ? Json(time->count()) : Json();
}

/// Returns the price of a machine per hour; "0/h" for the user's own machine.
std::string price_cell(const MachineSummary& machine) {
  return machine.type.empty() && machine.price ? "0/h" : price_text(machine.price, 1);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

}  // namespace

std::string_view cause_word(provision::EndCause cause) {
  switch (cause) {
    case provision::EndCause::max_life:
      return "max-life";
    case provision::EndCause::max_cost:
      return "max-cost";
    case provision::EndCause::unattended:
      return "unattended";
    case provision::EndCause::idle:
      return "idle-delete";
  }
  return "";
}

Json machine_fields(const state::Cluster& cluster) {
  const MachineSummary machine = machine_of(cluster);
  Json fields = {{"type", word_or_null(machine.type)},
                 {"region", word_or_null(machine.region)},
                 {"zone", word_or_null(machine.zone)},
                 {"gpus", word_or_null(machine.gpus)},
                 {"market", word_or_null(machine.market)}};
  put_price(fields, machine.price);
  return fields;
}

Json guard_fields(const GuardStatus& status) {
  const bool is_known = status.price.has_value();
  const provision::Guards& guards = status.guards;
  Json fields;
  put_price(fields, is_known ? std::optional(status.spending.per_hour) : std::nullopt);
  fields["cost_so_far"] = is_known ? Json(status.spending.so_far.amount) : Json();
  fields["guards"] = {{"max_life_seconds", seconds_json(guards.max_life)},
                      {"max_cost", money_json(guards.max_cost)},
                      {"unattended_seconds", seconds_json(guards.unattended)},
                      {"idle_stop_seconds", seconds_json(guards.idle_stop)},
                      {"idle_delete_seconds", seconds_json(guards.idle_delete)}};
  fields["ends"] = status.end ? Json(utc_text(status.end->when)) : Json();
  fields["ends_because"] = status.end ? Json(cause_word(status.end->cause)) : Json();
  fields["ended_because"] = status.ended ? Json(cause_word(*status.ended)) : Json();
  return fields;
}

std::string cost_text(const GuardStatus& status) {
  if (!status.price) return "?";
  if (status.price->amount == 0) return "0";
  return to_string(status.spending.so_far);
}

Json time_json(std::int64_t seconds) {
  if (seconds == 0) return nullptr;
  return utc_text(std::chrono::system_clock::from_time_t(seconds));
}

Json storage_fields(const provision::DataDisk& disk, std::span<const provision::Mount> mounts) {
  Json fields;
  fields["data_disk"] = Json();
  if (disk.gib > 0)
    fields["data_disk"] = {{"gib", disk.gib}, {"type", disk.type}, {"path", provision::kDataPath}};
  fields["mounts"] = Json::array();
  for (const auto& [source, path] : mounts)
    fields["mounts"].push_back({{"source", source}, {"path", path}});
  return fields;
}

Json cluster_fields(const ClusterAndNodes& shown) {
  Json fields = to_json(shown.cluster);
  if (provision::is_cloud(shown.cluster.provider)) {
    const state::CloudSpec& spec = shown.cluster.cloud();
    fields.update(storage_fields(spec.request.data_disk, spec.mounts));
  }
  fields["machine"] = machine_fields(shown.cluster);
  fields.update(guard_fields(shown.status));
  fields["owner"] = word_or_null(shown.owner);
  fields["taken_back"] = Json::array();
  for (const Notice& notice : shown.notices)
    fields["taken_back"].push_back({{"node", notice.node.value},
                                    {"when", time_json(notice.taken_back)},
                                    {"at_risk_since", time_json(notice.at_risk)}});
  return fields;
}

namespace {

Json to_json(const RdmaGid& gid) {
  return {{"index", gid.index},
          {"gid", gid.gid},
          {"type", word_or_null(gid.type)},
          {"interface", word_or_null(gid.interface)}};
}

Json to_json(const RdmaPort& port) {
  constexpr std::int64_t kMbit = 1'000'000;
  Json out = {{"device", port.device},
              {"port", port.number},
              {"driver", word_or_null(port.driver)},
              {"state", word_or_null(port.state)},
              {"bits_per_second", port.mbit > 0 ? Json(port.mbit * kMbit) : Json()},
              {"link_layer", word_or_null(port.link_layer)},
              {"interface", word_or_null(port.interface)},
              {"numa_node", port.numa_node ? Json(*port.numa_node) : Json()},
              {"gids", Json::array()}};
  for (const RdmaGid& gid : port.gids)
    out["gids"].push_back(to_json(gid));
  return out;
}

}  // namespace

Json rdma_fields(const std::optional<NodeReport>& report) {
  Json fields = {{"rdma_ports", nullptr}, {"rdma_obstacle", nullptr}};
  if (!report || !report->failure.empty()) return fields;
  fields["rdma_ports"] = Json::array();
  for (const RdmaPort& port : report->ports)
    fields["rdma_ports"].push_back(to_json(port));
  fields["rdma_obstacle"] = word_or_null(report->obstacle);
  return fields;
}

Json gpu_fields(const std::optional<NodeReport>& report) {
  Json fields = {{"gpu_devices", nullptr}, {"nvlinks", nullptr}};
  if (!report || !report->topology) return fields;
  fields = {{"gpu_devices", Json::array()}, {"nvlinks", Json::array()}};
  for (const agent::NearDevice& gpu : report->topology->gpus)
    fields["gpu_devices"].push_back(
        {{"address", gpu.name}, {"numa_node", gpu.numa >= 0 ? Json(gpu.numa) : Json()}});
  if (report->topology->is_gpu_tool_silent) fields["nvlinks"] = nullptr;
  for (const agent::GpuLink& link : report->topology->gpu_links)
    fields["nvlinks"].push_back({{"gpus", {link.first, link.second}}, {"links", link.count}});
  return fields;
}

Json to_json(const state::Cluster& cluster) {
  const state::ClusterText text = state::record_text_of(cluster);
  Json out;
  out["name"] = cluster.name.value;
  out["id"] = cluster.id.value;
  out["provider"] = cluster.provider;
  out["state"] = state::to_string(cluster.state);
  out["slots"] = cluster.slots;
  out["user"] = cluster.user;
  out["network"] = embedded(text.network);
  out["created"] = utc_text(cluster.created);
  out["spec"] = embedded(text.spec);
  return out;
}

const state::Silence* ClusterAndNodes::silence_of(const state::Node& node) const {
  const auto found = silences.find(node.name);
  return found == silences.end() ? nullptr : &found->second;
}

std::string_view state_word(const ClusterAndNodes& shown, const state::Node& node) {
  return shown.silence_of(node) == nullptr ? state::to_string(node.state) : "unreachable";
}

std::size_t running_nodes_of(const ClusterAndNodes& shown) {
  return static_cast<std::size_t>(std::ranges::count_if(shown.nodes, [&](const state::Node& node) {
    return node.state == state::NodeState::running && shown.silence_of(node) == nullptr;
  }));
}

Json silence_fields(const ClusterAndNodes& shown, const state::Node& node) {
  const state::Silence* const silence = shown.silence_of(node);
  return {{"unreachable_since", silence == nullptr ? Json() : Json(utc_text(silence->since))},
          {"unreachable_reason", silence == nullptr ? Json() : Json(silence->reason)}};
}

Json to_json(const state::Node& node) {
  Json out;
  out["name"] = node.name.value;
  out["index"] = node.index;
  out["state"] = state::to_string(node.state);
  out["address"] = node.address;
  out["port"] = node.port;
  out["private_address"] = node.private_address;
  out["user"] = node.user;
  out["slots"] = node.slots;
  out["instance"] = node.instance_id;
  out["host_keys"] = node.host_keys;
  return out;
}

namespace {

/// Returns true if a guard ends the cluster, or has ended it.
bool has_end(const ClusterAndNodes& shown) {
  return shown.owner.empty() && (shown.status.end || shown.status.ended);
}

/// Returns true if no running node of the cluster is known not to answer.
bool answers(const ClusterAndNodes& shown) {
  return shown.silences.empty();
}

/// Returns true if nodes are being made or removed, by another process or by one that died.
bool has_unfinished_nodes(const ClusterAndNodes& shown) {
  return contains(shown.nodes, state::NodeState::creating, &state::Node::state) ||
         contains(shown.nodes, state::NodeState::deleting, &state::Node::state);
}

Cell cell_of_state(const ClusterAndNodes& shown) {
  if (!shown.owner.empty()) return state_cell("taken over");
  if (shown.status.ended) return state_cell("ended");
  const state::ClusterState state = shown.cluster.state;
  Cell cell = state_cell(state::to_string(state));
  const bool is_whole_change =
      state == state::ClusterState::creating || state == state::ClusterState::deleting;
  if (!is_whole_change && has_unfinished_nodes(shown)) cell.text += ", unfinished";
  return cell;
}

}  // namespace

View view_of(std::span<const ClusterAndNodes> clusters, state::TimePoint now) {
  View view;
  view.when_empty = "no clusters; create one: fastgpu create cluster demo --nodes 2";
  view.table.columns = {{"NAME"},
                        {"PROVIDER"},
                        {"STATE"},
                        {"NODES"},
                        {"SLOTS", false, Fit::optional},
                        {"PRICE"},
                        {"COST"},
                        {"ENDS", std::ranges::none_of(clusters, has_end)},
                        {"AGE", false, Fit::optional},
                        {"TYPE", true},
                        {"ZONE", true},
                        {"GPUS", true},
                        {"NETWORK", true},
                        {"ID", true}};
  view.root = document("clusters");
  view.root["clusters"] = Json::array();
  for (const ClusterAndNodes& shown : clusters) {
    const auto& [cluster, nodes, status, notices, owner, silences] = shown;
    int slots = 0;
    for (const state::Node& node : nodes)
      slots += node.slots;
    view.names.push_back(cluster.name.value);
    const MachineSummary machine = machine_of(cluster);
    const bool is_ours = owner.empty();
    view.table.rows.push_back(
        {cluster.name.value, cluster.provider, cell_of_state(shown), running_of_all(shown),
         std::to_string(slots), is_ours ? price_cell(status) : "-",
         is_ours ? cost_text(status) : "-", is_ours ? end_text(status, now) : "-",
         age(cluster.created, now), or_dash(machine.type), or_dash(machine.zone),
         or_dash(machine.gpus), or_dash(network_word(cluster)), cluster.id.value});
    Json item = cluster_fields(shown);
    item["nodes"] = nodes.size();
    item["unreachable"] = silences.size();
    item["unfinished"] = has_unfinished_nodes(shown);
    view.root["clusters"].push_back(std::move(item));
  }
  return view;
}

View view_of_nodes(std::span<const ClusterAndNodes> clusters) {
  View view;
  view.when_empty = "no nodes; create some: fastgpu create cluster demo --nodes 2";
  view.table.columns = {{"NAME"},          {"CLUSTER", false, Fit::optional},
                        {"STATE"},         {"SINCE", std::ranges::all_of(clusters, answers)},
                        {"ADDRESS"},       {"SLOTS", false, Fit::optional},
                        {"PRIVATE", true}, {"PORT", true},
                        {"USER", true},    {"INSTANCE", true},
                        {"TYPE", true},    {"ZONE", true},
                        {"GPUS", true},    {"PRICE", true}};
  view.root = document("nodes");
  view.root["nodes"] = Json::array();
  for (const ClusterAndNodes& shown : clusters) {
    const state::Cluster& cluster = shown.cluster;
    const MachineSummary machine = machine_of(cluster);
    for (const state::Node& node : shown.nodes) {
      view.names.push_back(node.name.value);
      const state::Silence* const silence = shown.silence_of(node);
      view.table.rows.push_back(
          {node.name.value, cluster.name.value, state_cell(state_word(shown, node)),
           silence == nullptr ? "-" : utc_text(silence->since), node.address,
           std::to_string(node.slots), node.private_address, std::to_string(node.port), node.user,
           node.instance_id, or_dash(machine.type), or_dash(machine.zone), or_dash(machine.gpus),
           price_cell(machine)});
      Json item = to_json(node);
      item["cluster"] = cluster.name.value;
      item.update(silence_fields(shown, node));
      item.update(machine_fields(cluster));
      view.root["nodes"].push_back(std::move(item));
    }
  }
  return view;
}

View view_of_one(std::string_view kind, const Json& fields, std::string name) {
  View view;
  view.root = document(kind);
  view.root.update(fields);
  view.names = {std::move(name)};
  return view;
}

}  // namespace fastgpu::cli
