#include "provision/providers/static/hosts.hpp"

#include "base/json.hpp"

namespace fastgpu::provision {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint16_t kSshPort = 22;

std::string identity_of(const std::string& written, const fs::path& file_directory,
                        const fs::path& home) {
  if (written.empty()) return {};
  if (written.starts_with("~/")) return (home / written.substr(2)).lexically_normal().string();
  return fs::absolute(file_directory / written).lexically_normal().string();
}

json to_json(const StaticJump& jump) {
  json object = {{"address", jump.address},
                 {"port", jump.port},
                 {"user", jump.user},
                 {"host_keys", jump.host_keys}};
  if (!jump.identity.empty()) object["identity"] = jump.identity;
  return object;
}

json to_json(const OpenSshUse& use) {
  return {{"name", use.name},         {"config", use.config}, {"proxy", use.proxy},
          {"identity", use.identity}, {"first", use.first},   {"always", use.always}};
}

OpenSshUse use_of(const json& object) {
  return {.name = field<std::string>(object, "name"),
          .config = field<std::string>(object, "config"),
          .proxy = field<std::string>(object, "proxy"),
          .identity = field<std::string>(object, "identity"),
          .first = field<bool>(object, "first"),
          .always = field<bool>(object, "always")};
}

json to_json(const StaticHost& host) {
  json jumps = json::array();
  for (const StaticJump& jump : host.jumps)
    jumps.push_back(to_json(jump));
  json object = {{"name", host.name},         {"address", host.address},
                 {"port", host.port},         {"user", host.user},
                 {"identity", host.identity}, {"host_keys", host.host_keys},
                 {"jumps", std::move(jumps)}};
  if (host.slots) object["slots"] = *host.slots;
  if (!host.inner.empty()) {
    object["inner"] = host.inner;
    object["inner_port"] = host.inner_port;
  }
  if (host.openssh) object["openssh"] = to_json(*host.openssh);
  return object;
}

StaticJump jump_of(const json& object) {
  return {.address = field<std::string>(object, "address"),
          .port = field<std::uint16_t>(object, "port"),
          .user = field<std::string>(object, "user"),
          .identity = object.contains("identity") ? field<std::string>(object, "identity") : "",
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
  if (object.contains("inner")) {
    host.inner = field<std::string>(object, "inner");
    host.inner_port = field<std::uint16_t>(object, "inner_port");
  }
  if (object.contains("openssh")) host.openssh = use_of(field<json>(object, "openssh"));
  for (const json& jump : field<json>(object, "jumps"))
    host.jumps.push_back(jump_of(jump));
  return host;
}

}  // namespace

std::vector<StaticHost> static_hosts(const ClusterFile& file, const fs::path& file_directory,
                                     const fs::path& home) {
  std::vector<StaticHost> hosts;
  for (const HostEntry& entry : file.hosts) {
    StaticHost host{.name = entry.name,
                    .address = entry.address,
                    .port = entry.port.value_or(kSshPort),
                    .user = entry.user,
                    .slots = entry.slots,
                    .identity = identity_of(entry.identity, file_directory, home),
                    .host_keys = entry.host_keys,
                    .inner = entry.inner,
                    .inner_port = entry.inner_port.value_or(kSshPort)};
    for (const JumpEntry& jump : entry.jumps)
      host.jumps.push_back({.address = jump.address,
                            .port = jump.port.value_or(kSshPort),
                            .user = jump.user,
                            .identity = identity_of(jump.identity, file_directory, home),
                            .host_keys = jump.host_keys});
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
