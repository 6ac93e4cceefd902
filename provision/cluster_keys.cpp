#include "provision/cluster_keys.hpp"

#include <system_error>

#include "base/fault_point.hpp"
#include "base/file_status.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "state/directory.hpp"

namespace fastgpu::provision {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path host_keys_file(const fs::path& state_directory, const state::ClusterId& cluster) {
  return state::cluster_directory(state_directory, cluster) / "host_keys.json";
}

fs::path public_key_file(const fs::path& state_directory, const state::ClusterId& cluster) {
  return state::identity_file(state_directory, cluster).string() + ".pub";
}

void write_host_keys(const fs::path& file, const HostKeys& keys) {
  json object = json::object();
  for (const auto& [token, pair] : keys)
    object[token] = {{"private", pair.private_key.reveal()}, {"public", pair.public_key}};
  state::write_private_file(file, object.dump());
}

}  // namespace

/// Makes the key pair. The private file comes last: if it exists, the pair is complete.
void make_cluster_key(const Tools& tools, const state::Cluster& cluster) {
  const fs::path directory = tools.store.directory();
  const fs::path identity = state::identity_file(directory, cluster.id);
  if (path_exists(identity)) return;
  state::make_private_directory(identity.parent_path());
  const KeyPair pair = tools.keys.make("fastgpu " + cluster.name.value);
  state::write_private_file(public_key_file(directory, cluster.id), pair.public_key + "\n");
  fault_point("keys:half");
  state::write_private_file(identity, pair.private_key.reveal());
}

void make_keys(const Tools& tools, const state::Cluster& cluster,
               std::span<const state::Node> nodes, HostKeyUse use, HostKeys& host_keys) {
  make_cluster_key(tools, cluster);
  std::optional<KeyPair> made;
  for (const state::Node& node : nodes) {
    if (host_keys.contains(node.token)) continue;
    if (!made || use == HostKeyUse::one_a_node) made = tools.keys.make(node.name.value);
    host_keys.emplace(node.token, *made);
  }
  write_host_keys(host_keys_file(tools.store.directory(), cluster.id), host_keys);
  fault_point("keys:made");
}

std::optional<HostKeys> read_host_keys(const fs::path& state_directory,
                                       const state::ClusterId& cluster) {
  const auto text = read_file(host_keys_file(state_directory, cluster));
  if (!text) return std::nullopt;
  try {
    HostKeys keys;
    const json object = try_parse_json(*text);
    if (!object.is_object()) return std::nullopt;
    for (const auto& [token, pair] : object.items())
      keys.emplace(token, KeyPair{Secret(pair.at("private").get<std::string>()),
                                  pair.at("public").get<std::string>()});
    return keys;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::optional<std::string> authorized_key(const fs::path& state_directory,
                                          const state::ClusterId& cluster) {
  if (!path_exists(state::identity_file(state_directory, cluster))) return std::nullopt;
  auto text = read_file(public_key_file(state_directory, cluster));
  while (text && text->ends_with('\n'))
    text->pop_back();
  return text;
}

void drop_host_keys(const fs::path& state_directory, const state::ClusterId& cluster) noexcept {
  std::error_code ignored;  // gc finds the remains.
  fs::remove(host_keys_file(state_directory, cluster), ignored);
}

void remove_key_files(const fs::path& state_directory, const state::ClusterId& cluster) {
  const fs::path directory = state::cluster_directory(state_directory, cluster);
  std::error_code error;
  fs::remove_all(directory, error);
  if (error) throw system_error("removing " + directory.string(), error.value());
}

}  // namespace fastgpu::provision
