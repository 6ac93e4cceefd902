#include "cli/commands/views.hpp"

#include <algorithm>

#include "cli/commands/cloud_options.hpp"
#include "cli/ui/text.hpp"
#include "provision/providers.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

Cell state_cell(std::string_view word) {
  return {std::string(word), color_of(word)};
}

/// The provider's own part of the wish: JSON where it is, text where it is not.
Json embedded(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

std::string running_of_all(std::span<const state::Node> nodes) {
  const auto running = std::ranges::count(nodes, state::NodeState::running, &state::Node::state);
  return std::to_string(running) + "/" + std::to_string(nodes.size());
}

std::string exit_word(const state::Job& job) {
  return job.exit_code ? std::to_string(*job.exit_code) : "";
}

/// What a cluster costs while its nodes run. Nothing where they are ours; absent where a cloud does
/// not tell.
struct Cost {
  std::optional<provision::cloud::Money> per_hour{};
  double most_so_far = 0;  ///< As if all nodes had run since the creation.
};

Cost cost_of(const ClusterAndNodes& shown, state::TimePoint now) {
  const auto& [cluster, nodes] = shown;
  if (!provision::is_cloud(cluster.provider)) return {provision::cloud::Money{}, 0};
  const auto price = provision::cloud::price_of(cluster);
  if (!price) return {};
  const std::chrono::duration<double, std::ratio<3600>> hours = now - cluster.created;
  const auto running = std::ranges::count(nodes, state::NodeState::running, &state::Node::state);
  return {provision::cloud::Money{price->amount * static_cast<double>(running), price->currency},
          price->amount * static_cast<double>(nodes.size()) * std::max(0.0, hours.count())};
}

std::string cost_text(const Cost& cost) {
  if (!cost.per_hour) return "?";
  return cost.per_hour->amount == 0 ? "0/h" : price_text(cost.per_hour, 1);
}

void add_cost(Json& item, const Cost& cost) {
  item["price_per_hour"] = cost.per_hour ? Json(cost.per_hour->amount) : Json();
  item["currency"] = cost.per_hour ? Json(cost.per_hour->currency) : Json();
  item["cost_at_most"] = cost.per_hour ? Json(cost.most_so_far) : Json();
}

}  // namespace

Json cluster_fields(const ClusterAndNodes& shown, state::TimePoint now) {
  Json fields = to_json(shown.cluster);
  add_cost(fields, cost_of(shown, now));
  return fields;
}

Json to_json(const state::Cluster& cluster) {
  Json out;
  out["name"] = cluster.name.value;
  out["id"] = cluster.id.value;
  out["provider"] = cluster.provider;
  out["state"] = state::to_string(cluster.state);
  out["slots"] = cluster.slots;
  out["user"] = cluster.user;
  out["network"] = cluster.network;
  out["created"] = timestamp(cluster.created);
  out["spec"] = embedded(cluster.spec_json);
  return out;
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

Json to_json(const state::Job& job) {
  Json out;
  out["id"] = job.id;
  out["state"] = state::to_string(job.state);
  out["exit_code"] = job.exit_code ? Json(*job.exit_code) : Json(nullptr);
  out["reason"] = job.reason;
  out["created"] = timestamp(job.created);
  out["ended"] = job.ended ? Json(timestamp(*job.ended)) : Json(nullptr);
  out["spec"] = embedded(job.spec_json);
  return out;
}

View view_of(std::span<const ClusterAndNodes> clusters, state::TimePoint now) {
  View view;
  view.when_empty = "no clusters; make one: fastgpu create cluster demo --nodes 2";
  view.table.columns = {{"NAME"},  {"PROVIDER"}, {"STATE"},         {"NODES"},   {"SLOTS"},
                        {"PRICE"}, {"AGE"},      {"NETWORK", true}, {"ID", true}};
  view.root = document("clusters");
  view.root["clusters"] = Json::array();
  for (const ClusterAndNodes& shown : clusters) {
    const auto& [cluster, nodes] = shown;
    int slots = 0;
    for (const state::Node& node : nodes)
      slots += node.slots;
    view.names.push_back(cluster.name.value);
    view.table.rows.push_back({cluster.name.value, cluster.provider,
                               state_cell(state::to_string(cluster.state)), running_of_all(nodes),
                               std::to_string(slots), cost_text(cost_of(shown, now)),
                               age(cluster.created, now), cluster.network, cluster.id.value});
    Json item = cluster_fields(shown, now);
    item["nodes"] = nodes.size();
    view.root["clusters"].push_back(std::move(item));
  }
  return view;
}

View view_of_nodes(std::span<const ClusterAndNodes> clusters) {
  View view;
  view.when_empty = "no nodes; make some: fastgpu create cluster demo --nodes 2";
  view.table.columns = {{"NAME"},       {"CLUSTER"},    {"STATE"},
                        {"ADDRESS"},    {"SLOTS"},      {"PRIVATE", true},
                        {"PORT", true}, {"USER", true}, {"INSTANCE", true}};
  view.root = document("nodes");
  view.root["nodes"] = Json::array();
  for (const auto& [cluster, nodes] : clusters)
    for (const state::Node& node : nodes) {
      view.names.push_back(node.name.value);
      view.table.rows.push_back({node.name.value, cluster.name.value,
                                 state_cell(state::to_string(node.state)), node.address,
                                 std::to_string(node.slots), node.private_address,
                                 std::to_string(node.port), node.user, node.instance_id});
      Json item = to_json(node);
      item["cluster"] = cluster.name.value;
      view.root["nodes"].push_back(std::move(item));
    }
  return view;
}

View view_of(std::span<const JobAndCluster> jobs, state::TimePoint now) {
  View view;
  view.when_empty = "no jobs; run one: fastgpu run job --cluster demo -np 2 -- hostname";
  view.table.columns = {{"JOB"}, {"CLUSTER"}, {"STATE"}, {"EXIT"}, {"AGE"}, {"REASON", true}};
  view.root = document("jobs");
  view.root["jobs"] = Json::array();
  for (const auto& [job, cluster] : jobs) {
    view.names.push_back(job.id);
    view.table.rows.push_back({job.id, cluster, state_cell(state::to_string(job.state)),
                               exit_word(job), age(job.created, now), job.reason});
    Json item = to_json(job);
    item["cluster"] = cluster;
    view.root["jobs"].push_back(std::move(item));
  }
  return view;
}

View view_of_one(std::string_view kind, const Json& fields, std::string name) {
  View view;
  view.root = document(kind);
  view.root.update(fields);
  view.names = {std::move(name)};
  view.described = fields;
  return view;
}

}  // namespace fastgpu::cli
