#include "provision/cluster_record.hpp"

#include <algorithm>
#include <set>

#include "base/hex.hpp"
#include "base/host_names.hpp"
#include "base/json.hpp"
#include "provision/cluster_spec.hpp"
#include "provision/providers.hpp"
#include "state/record_text.hpp"

namespace fastgpu::provision {
namespace {

using nlohmann::json;
using state::TimePoint;

constexpr const char* kSchema = "fastgpu/cluster-record/v1";
constexpr int kHighestIndex = 1'000'000;
constexpr std::size_t kMostRuns = 1'000'000;
constexpr std::size_t kLongestKey = 200;
constexpr std::size_t kMostKeys = 4;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::remote, "the cluster's record on its head node is unusable: " + why);
}

std::int64_t milliseconds(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// Reads an integer. Other JSON numbers do not all fit.
std::int64_t whole_in(const json& object, const char* key) {
  const auto number = field<json>(object, key);
  if (!number.is_number_integer()) refuse(std::string(key) + " is not a whole number");
  return number.get<std::int64_t>();
}

/// Reads a time between 1970 and the year 10000.
TimePoint time_in(const json& object, const char* key) {
  constexpr std::int64_t kLast = 253'402'300'800'000;  // The year 10000.
  const auto time = whole_in(object, key);
  if (time < 0 || time > kLast) refuse(std::string(key) + " " + std::to_string(time));
  return TimePoint(std::chrono::milliseconds(time));
}

json to_json(const state::Cluster& cluster) {
  const state::ClusterText text = state::record_text_of(cluster);
  return {{"id", cluster.id.value},  {"name", cluster.name.value},
          {"slots", cluster.slots},  {"provider", cluster.provider},
          {"user", cluster.user},    {"spec", text.spec},
          {"network", text.network}, {"created", milliseconds(cluster.created)}};
}

json to_json(const state::Node& node) {
  return {{"index", node.index}, {"name", node.name.value}, {"user", node.user},
          {"slots", node.slots}, {"token", node.token},     {"host_keys", node.host_keys}};
}

json to_json(const state::Run& run) {
  json object = {{"index", run.index}, {"began", milliseconds(run.began)}};
  if (run.ended) object["ended"] = milliseconds(*run.ended);
  return object;
}

bool is_hex_of(std::size_t size, std::string_view text) {
  return text.size() == size && is_hex(text);
}

int number_in(const json& object, const char* key, int least, int most) {
  const auto number = whole_in(object, key);
  if (number < least || number > most) refuse(std::string(key) + " " + std::to_string(number));
  return static_cast<int>(number);
}

/// Throws for a user or name that is not safe in commands and files.
void check_words(const std::string& user, const ClusterName& name, int slots) try {
  check_spec({.name = name, .slots = slots, .user = user});
} catch (const Error& e) {
  refuse(e.what());
}

state::Cluster cluster_in(const json& object) {
  state::Cluster cluster{.id = {field<std::string>(object, "id")},
                         .name = {field<std::string>(object, "name")},
                         .provider = field<std::string>(object, "provider"),
                         .slots = number_in(object, "slots", 1, kMostSlots),
                         .user = field<std::string>(object, "user"),
                         .created = time_in(object, "created")};
  if (!is_hex_of(8, cluster.id.value)) refuse("the identity '" + printable(cluster.id.value) + "'");
  if (!is_cloud(cluster.provider)) refuse("the provider '" + printable(cluster.provider) + "'");
  check_words(cluster.user, cluster.name, cluster.slots);
  state::read_record_text(cluster, {.spec = field<std::string>(object, "spec"),
                                    .network = field<std::string>(object, "network")});
  return cluster;
}

std::vector<std::string> host_keys_in(const json& object) {
  auto keys = field<std::vector<std::string>>(object, "host_keys");
  const auto is_key = [](const std::string& key) {
    return key.starts_with("ssh-ed25519 ") && key.size() <= kLongestKey &&
           key.find_first_of("\r\n") == std::string::npos;
  };
  if (keys.empty() || keys.size() > kMostKeys || !std::ranges::all_of(keys, is_key))
    refuse("the host keys of a node");
  return keys;
}

state::Node node_in(const json& object, const state::ClusterId& cluster) {
  state::Node node{.cluster = cluster,
                   .index = number_in(object, "index", 0, kHighestIndex),
                   .name = {field<std::string>(object, "name")},
                   .token = field<std::string>(object, "token"),
                   .user = field<std::string>(object, "user"),
                   .slots = number_in(object, "slots", 1, kMostSlots),
                   .host_keys = host_keys_in(object)};
  if (!is_hex_of(32, node.token)) refuse("the token of a node");
  try {
    check_node_name(node.name.value);
  } catch (const Error& e) {
    refuse(e.what());
  }
  check_words(node.user, {"any"}, node.slots);
  return node;
}

state::Run run_in(const json& object) {
  state::Run run{.index = number_in(object, "index", 0, kHighestIndex),
                 .began = time_in(object, "began")};
  if (object.contains("ended")) run.ended = time_in(object, "ended");
  return run;
}

const json& list_in(const json& root, const char* key, std::size_t most) {
  const auto list = root.find(key);
  if (list == root.end() || !list->is_array()) refuse("it has no list '" + std::string(key) + "'");
  if (list->size() > most) refuse("too many " + std::string(key));
  return *list;
}

}  // namespace

std::string to_text(const ClusterRecord& record) {
  json root = {{"schema", kSchema},
               {"cluster", to_json(record.cluster)},
               {"nodes", json::array()},
               {"runs", json::array()}};
  for (const state::Node& node : record.nodes)
    root["nodes"].push_back(to_json(node));
  for (const state::Run& run : record.runs)
    root["runs"].push_back(to_json(run));
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

ClusterRecord parse_cluster_record(const std::string& text) {
  if (text.size() > kLargestRecord) refuse(std::to_string(text.size()) + " bytes are too many");
  const json root = parse_json(text, "the cluster's record on its head node");
  const std::string schema = root.is_object() ? field<std::string>(root, "schema") : "";
  if (schema != kSchema)
    refuse("its schema is '" + printable(schema) + "', and this fastgpu reads " + kSchema);
  ClusterRecord record;
  record.cluster = cluster_in(field<json>(root, "cluster"));
  std::set<int> indexes;
  for (const json& node : list_in(root, "nodes", kMostNodes)) {
    record.nodes.push_back(node_in(node, record.cluster.id));
    if (!indexes.insert(record.nodes.back().index).second) refuse("two nodes of one index");
  }
  if (record.nodes.empty()) refuse("it has no nodes");
  for (const json& run : list_in(root, "runs", kMostRuns))
    record.runs.push_back(run_in(run));
  return record;
}

}  // namespace fastgpu::provision
