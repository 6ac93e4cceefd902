#include "provision/providers/local/records.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "base/numbers.hpp"
#include "provision/providers/local/durable_files.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kClusterFile = "cluster.json";
constexpr const char* kNodeFile = "node.json";

std::optional<int> parse_index(const std::string& text) {
  const auto index = to_number<int>(text);
  return index && *index >= 0 ? index : std::nullopt;
}

/// Reads a file; absent if a crash cut it short: its content is then made anew or deleted.
std::optional<json> read_json(const fs::path& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  json parsed = try_parse_json(*text);
  return parsed.is_object() ? std::optional(std::move(parsed)) : std::nullopt;
}

}  // namespace

std::optional<LocalClusterRecord> read_cluster(const fs::path& folder) {
  const auto parsed = read_json(folder / kClusterFile);
  if (!parsed) return std::nullopt;
  const auto subnet = parse_subnet(field<std::string>(*parsed, "subnet"));
  if (!subnet)
    throw Error(ErrorKind::local, (folder / kClusterFile).string() + " names no usable subnet");
  LocalClusterRecord record{field<std::string>(*parsed, "id"), field<std::string>(*parsed, "name"),
                            *subnet};
  for (const auto& [index, name] : field<std::map<std::string, std::string>>(*parsed, "nodes"))
    if (const auto number = parse_index(index)) record.nodes[*number] = name;
  return record;
}

void write_cluster(const fs::path& folder, const LocalClusterRecord& record) {
  json nodes = json::object();
  for (const auto& [index, name] : record.nodes)
    nodes[std::to_string(index)] = name;
  const json out = {{"schema", "fastgpu.local-cluster/1"},
                    {"id", record.id},
                    {"name", record.name},
                    {"subnet", to_string(record.subnet)},
                    {"nodes", nodes}};
  replace_file(folder / kClusterFile, out.dump(2) + "\n", 0600, Durability::on_disk);
}

std::optional<NodeRecord> read_node(const fs::path& folder) {
  const auto parsed = read_json(folder / kNodeFile);
  if (!parsed) return std::nullopt;
  return NodeRecord{
      field<int>(*parsed, "index"), field<std::string>(*parsed, "name"),
      field<std::string>(*parsed, "token"),
      field<bool>(*parsed, "image_ready") ? NodeImageState::ready : NodeImageState::unfinished};
}

void write_node(const fs::path& folder, const NodeRecord& record) {
  const json out = {{"schema", "fastgpu.local-node/1"},
                    {"index", record.index},
                    {"name", record.name},
                    {"token", record.token},
                    {"image_ready", record.image == NodeImageState::ready}};
  replace_file(folder / kNodeFile, out.dump(2) + "\n", 0600, Durability::until_crash);
}

void remove_node_record(const fs::path& folder) {
  fs::remove(folder / kNodeFile);
}

std::vector<int> node_indices(const fs::path& cluster_folder) {
  std::vector<int> indices;
  for (const std::string& name : folders_in(cluster_folder))
    if (const auto index = parse_index(name)) indices.push_back(*index);
  std::ranges::sort(indices);
  return indices;
}

}  // namespace fastgpu::provision::local
