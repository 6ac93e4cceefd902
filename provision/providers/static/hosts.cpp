#include "provision/providers/static/hosts.hpp"

#include "base/json.hpp"

namespace fastgpu::provision {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string identity_of(const std::string& written, const fs::path& file_directory,
                        const fs::path& home) {
  if (written.empty()) return {};
  if (written.starts_with("~/")) return (home / written.substr(2)).lexically_normal().string();
  return fs::absolute(file_directory / written).lexically_normal().string();
}

json to_json(const state::JumpHost& jump) {
  return {{"address", jump.address},
          {"port", jump.port},
          {"user", jump.user},
          {"host_keys", jump.host_keys}};
}

json to_json(const StaticHost& host) {
  json jumps = json::array();
  for (const state::JumpHost& jump : host.jumps)
    jumps.push_back(to_json(jump));
  json object = {{"name", host.name},         {"address", host.address},
                 {"port", host.port},         {"user", host.user},
                 {"identity", host.identity}, {"host_keys", host.host_keys},
                 {"jumps", std::move(jumps)}};
  if (host.slots) object["slots"] = *host.slots;
  return object;
}

state::JumpHost jump_of(const json& object) {
  return {.address = field<std::string>(object, "address"),
          .port = field<std::uint16_t>(object, "port"),
          .user = field<std::string>(object, "user"),
          .host_keys = field<std::vector<std::string>>(object, "host_keys")};
}

StaticHost host_of(const json& object) {
  StaticHost host{.name = field<std::string>(object, "name"),
                  .address = field<std::string>(object, "address"),
                  .port = field<std::uint16_t>(object, "port"),
                  .user = field<std::string>(object, "user"),
                  .identity = field<std::string>(object, "identity"),
                  .host_keys = field<std::vector<std::string>>(object, "host_keys")};
  if (object.contains("slots")) host.slots = field<int>(object, "slots");
  for (const json& jump : field<json>(object, "jumps"))
    host.jumps.push_back(jump_of(jump));
  return host;
}

}  // namespace

std::vector<StaticHost> static_hosts(const config::ClusterFile& file,
                                     const fs::path& file_directory, const fs::path& home) {
  std::vector<StaticHost> hosts;
  for (const config::HostEntry& entry : file.hosts) {
    StaticHost host{.name = entry.name,
                    .address = entry.address,
                    .port = entry.port,
                    .user = entry.user,
                    .slots = entry.slots,
                    .identity = identity_of(entry.identity, file_directory, home),
                    .host_keys = entry.host_keys};
    for (const config::JumpEntry& jump : entry.jumps)
      host.jumps.push_back({jump.address, jump.port, jump.user, jump.host_keys});
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::string to_spec_json(const std::vector<StaticHost>& hosts) {
  json list = json::array();
  for (const StaticHost& host : hosts)
    list.push_back(to_json(host));
  return json{{"hosts", std::move(list)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<StaticHost> parse_spec_json(const state::Cluster& cluster) try {
  const json spec = parse_json(cluster.spec_json, "the list of hosts");
  std::vector<StaticHost> hosts;
  for (const json& host : field<json>(spec, "hosts"))
    hosts.push_back(host_of(host));
  return hosts;
} catch (const Error& e) {
  throw Error(ErrorKind::local, "cluster '" + cluster.name.value + "': " + e.what());
}

}  // namespace fastgpu::provision
