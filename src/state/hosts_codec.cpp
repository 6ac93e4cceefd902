// The JSON of clusters outside clouds: local nodes, and listed hosts.
#include "base/json.hpp"
#include "state/part_json.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;

constexpr const char* kLinkRate = "link_rate_bits";

json json_of(const StaticJump& jump) {
  json object = {{"address", jump.address},
                 {"port", jump.port},
                 {"user", jump.user},
                 {"host_keys", jump.host_keys}};
  if (!jump.identity.empty()) object["identity"] = jump.identity;
  return object;
}

json json_of(const OpenSshUse& use) {
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

json json_of(const StaticHost& host) {
  json jumps = json::array();
  for (const StaticJump& jump : host.jumps)
    jumps.push_back(json_of(jump));
  json object = {{"name", host.name},         {"address", host.address},
                 {"port", host.port},         {"user", host.user},
                 {"identity", host.identity}, {"host_keys", host.host_keys},
                 {"jumps", std::move(jumps)}};
  if (host.slots) object["slots"] = *host.slots;
  if (!host.inner.empty()) {
    object["inner"] = host.inner;
    object["inner_port"] = host.inner_port;
  }
  if (host.openssh) object["openssh"] = json_of(*host.openssh);
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

LocalSpec parse_local_spec(const std::string& text) {
  const json spec = try_parse_json(text.empty() ? "{}" : text);
  if (!spec.is_object())
    throw Error(ErrorKind::usage,
                "the local part of the cluster's specification is not a JSON object");
  const auto rate = spec.find(kLinkRate);
  if (rate == spec.end() || rate->is_null()) return {};
  if (!rate->is_number_unsigned() || rate->get<std::uint64_t>() == 0)
    throw Error(ErrorKind::usage, "link_rate_bits must be a positive number, not " + rate->dump());
  return {.link_rate = BitRate{rate->get<std::uint64_t>()}};
}

void put(json& object, const LocalSpec& spec) {
  object.erase(kLinkRate);
  if (spec.link_rate) object[kLinkRate] = spec.link_rate->bits_per_second;
}

StaticSpec parse_static_spec(const std::string& text) try {
  const json object = parse_json(text, "the list of hosts");
  StaticSpec spec;
  for (const json& host : field<json>(object, "hosts"))
    spec.hosts.push_back(host_of(host));
  return spec;
} catch (const Error& e) {
  throw Error(ErrorKind::local, e.what());
}

void put(json& object, const StaticSpec& spec) {
  json list = json::array();
  for (const StaticHost& host : spec.hosts)
    list.push_back(json_of(host));
  object["hosts"] = std::move(list);
}

}  // namespace fastgpu::state
