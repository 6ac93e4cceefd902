#include "config/cluster_file.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/ip.hpp"
#include "base/literals.hpp"
#include "base/money.hpp"
#include "base/names.hpp"

namespace fastgpu::config {
namespace {

constexpr int kMostNodes = 10'000;
constexpr int kMostSlots = 1'024;
constexpr int kHighestPort = 65'535;
constexpr std::uint16_t kSshPort = 22;

bool is_address_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == ':' || c == '_' || c == '%';
}

/// An IPv4 or IPv6 address or a DNS name, by its looks: it must not pass for an option or a word of
/// a shell.
std::string checked_address(const Value& value, const std::string& text) {
  constexpr std::size_t kLongest = 253;
  if (text.empty() || text.size() > kLongest || text.front() == '-' ||
      !std::ranges::all_of(text, is_address_character))
    throw value.error("'" + printable(text) + "' is no address and no host name");
  return text;
}

std::string address_of(const Value& value) {
  return checked_address(value, value.text());
}

std::string checked_user(const Value& value, const std::string& text) {
  const auto usable = [](char c) { return is_address_character(c) && c != ':' && c != '%'; };
  if (text.empty() || text.front() == '-' || !std::ranges::all_of(text, usable))
    throw value.error("'" + printable(text) + "' is no user name");
  return text;
}

std::string user_of(const Value& value) {
  return checked_user(value, value.text());
}

std::uint16_t port_of(const Value& value) {
  return static_cast<std::uint16_t>(value.integer(1, kHighestPort));
}

std::string host_key_of(const Value& value) {
  const std::string text = value.text();
  const std::size_t space = text.find(' ');
  const bool is_line = text.find('\n') == std::string::npos;
  if (!is_line || space == std::string::npos || space + 1 == text.size())
    throw value.error("'" + printable(text) +
                      "' is no host key: write it like 'ssh-ed25519 AAAA...'");
  return text;
}

/// One key under host_key, or several under host_keys.
std::vector<std::string> host_keys_of(const Value& host) {
  std::vector<std::string> keys;
  if (const auto one = host.find("host_key")) keys.push_back(host_key_of(*one));
  if (const auto several = host.find("host_keys"))
    for (const Value& key : several->list())
      keys.push_back(host_key_of(key));
  return keys;
}

Value required(const Value& map, std::string_view key) {
  if (auto value = map.find(key)) return *std::move(value);
  throw map.error("'" + std::string(key) + "' is missing");
}

/// Takes "user@host:port" apart; an IPv6 address with a port is in brackets, "[fd00::1]:22".
JumpEntry place_of(const Value& value) {
  const std::string text = value.text();
  std::string_view rest = text;
  JumpEntry place;
  if (const auto at = rest.rfind('@'); at != rest.npos) {
    place.user = checked_user(value, std::string(rest.substr(0, at)));
    rest.remove_prefix(at + 1);
  }
  const bool in_brackets = rest.starts_with('[') && rest.find(']') != rest.npos;
  const auto end = in_brackets                          ? rest.find(']') + 1
                   : std::ranges::count(rest, ':') == 1 ? rest.find(':')
                                                        : rest.size();
  const std::string_view port = rest.substr(end);
  if (!port.empty()) {
    int number = 0;
    const auto [stop, error] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
    if (port.front() != ':' || error != std::errc{} || stop != port.data() + port.size() ||
        number < 1 || number > kHighestPort)
      throw value.error("'" + printable(text) + "' has no port from 1 to 65535 behind its address");
    place.port = static_cast<std::uint16_t>(number);
  }
  rest = rest.substr(0, end);
  if (in_brackets) rest = rest.substr(1, rest.size() - 2);
  place.address = checked_address(value, std::string(rest));
  return place;
}

JumpEntry jump_of(const Value& value) {
  if (!value.is_map()) return place_of(value);
  value.allow_only({"address", "port", "user", "identity", "host_key", "host_keys"});
  JumpEntry jump{.address = address_of(required(value, "address"))};
  if (const auto port = value.find("port")) jump.port = port_of(*port);
  if (const auto user = value.find("user")) jump.user = user_of(*user);
  if (const auto identity = value.find("identity")) jump.identity = identity->text();
  jump.host_keys = host_keys_of(value);
  return jump;
}

std::vector<JumpEntry> jumps_of(const Value& value) {
  if (!value.is_list()) return {jump_of(value)};
  std::vector<JumpEntry> jumps;
  for (const Value& jump : value.list())
    jumps.push_back(jump_of(jump));
  return jumps;
}

/// A host is an address alone, or a map.
HostEntry host_of(const Value& value) {
  if (!value.is_map()) return {.address = address_of(value), .where = value.where()};
  value.allow_only(
      {"name", "address", "port", "user", "slots", "identity", "host_key", "host_keys", "jump"});
  HostEntry host{.address = address_of(required(value, "address")), .where = value.where()};
  if (const auto name = value.find("name")) {
    host.name = name->text();
    name->parsed([](const std::string& text) { return check_name("host name", text), 0; });
  }
  if (const auto port = value.find("port")) host.port = port_of(*port);
  if (const auto user = value.find("user")) host.user = user_of(*user);
  if (const auto slots = value.find("slots")) host.slots = slots->integer(1, kMostSlots);
  if (const auto identity = value.find("identity")) host.identity = identity->text();
  if (const auto jump = value.find("jump")) host.jumps = jumps_of(*jump);
  host.host_keys = host_keys_of(value);
  return host;
}

std::vector<HostEntry> hosts_of(const Value& value) {
  std::vector<HostEntry> hosts;
  std::set<std::string> names;
  std::set<std::pair<std::string, std::uint16_t>> places;
  for (const Value& item : value.list()) {
    HostEntry host = host_of(item);
    if (!host.name.empty() && !names.insert(host.name).second)
      throw item.error("host name '" + host.name + "' is there twice");
    const std::uint16_t port = host.port.value_or(kSshPort);
    if (!places.emplace(host.address, port).second)
      throw item.error("host " + host.address + " port " + std::to_string(port) +
                       " is there twice");
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) throw value.error("there must be at least one host");
  return hosts;
}

std::string time_of(const Value& value) {
  value.duration();
  return value.text();
}

std::string money_of(const Value& value) {
  value.parsed([](const std::string& text) { return parse_money(text); });
  return value.text();
}

/// "20USD", "20USD/h"
std::string price_of(const Value& value) {
  value.parsed([](std::string_view text) {
    return parse_money(text.ends_with("/h") ? text.substr(0, text.size() - 2) : text);
  });
  return value.text();
}

/// "stop after 30m, delete after 7d"; one of both is enough.
void read_idle(const Value& value, GuardEntry& guards) {
  constexpr std::string_view kStop = "stop after ";
  constexpr std::string_view kDelete = "delete after ";
  const std::string text = value.text();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view rule = std::string_view(text).substr(begin, end - begin);
    while (rule.starts_with(' '))
      rule.remove_prefix(1);
    std::string& guard = rule.starts_with(kStop) ? guards.idle_stop : guards.idle_delete;
    const auto verb = rule.starts_with(kStop) ? kStop : kDelete;
    if (!rule.starts_with(verb) || !guard.empty())
      throw value.error("'" + printable(text) +
                        "' is no rule: write it like 'stop after 30m, delete after 7d'");
    guard = rule.substr(verb.size());
    value.parsed([&](const std::string&) { return parse_duration(guard); });
    begin = end + 1;
  }
}

GuardEntry guards_of(const Value& root) {
  GuardEntry guards;
  if (const auto life = root.find("max-life")) guards.max_life = time_of(*life);
  if (const auto cost = root.find("max-cost")) guards.max_cost = money_of(*cost);
  if (const auto time = root.find("unattended")) guards.unattended = time_of(*time);
  if (const auto idle = root.find("idle")) read_idle(*idle, guards);
  return guards;
}

/// One text, or a list of them.
std::vector<std::string> texts_of(const Value& value) {
  if (value.is_list()) return value.texts();
  return {value.text()};
}

std::vector<std::string> ranges_of(const Value& value) {
  const std::vector<Value> values = value.is_list() ? value.list() : std::vector{value};
  for (const Value& one : values)
    one.parsed([](const std::string& text) { return IpRange::parse(text); });
  return texts_of(value);
}

int disk_of(const Value& value) {
  constexpr int kLargestDisk = 32'768;
  return value.parsed([](const std::string& text) { return parse_gib(text, 1, kLargestDisk); });
}

CloudFields cloud_of(const Value& value) {
  value.allow_only({"clouds", "gpus", "instance-type", "region", "zone", "image", "vpc",
                    "max-price", "hold-cost", "ssh-from", "disk", "data-disk", "mount", "min-nodes",
                    "hold", "spot", "rdma", "public-address"});
  CloudFields fields;
  const std::pair<const char*, std::string*> texts[] = {{"gpus", &fields.gpus},
                                                        {"instance-type", &fields.instance_type},
                                                        {"region", &fields.region},
                                                        {"zone", &fields.zone},
                                                        {"image", &fields.image},
                                                        {"vpc", &fields.vpc},
                                                        {"public-address", &fields.public_address},
                                                        {"data-disk", &fields.data_disk}};
  for (const auto& [key, field] : texts)
    if (const auto text = value.find(key)) *field = text->text();
  if (const auto price = value.find("max-price")) fields.max_price = price_of(*price);
  if (const auto cost = value.find("hold-cost")) fields.hold_cost = money_of(*cost);
  if (const auto clouds = value.find("clouds")) fields.clouds = texts_of(*clouds);
  if (const auto mounts = value.find("mount")) fields.mounts = texts_of(*mounts);
  if (const auto from = value.find("ssh-from")) fields.ssh_from = ranges_of(*from);
  if (const auto disk = value.find("disk")) fields.disk = disk_of(*disk);
  if (const auto least = value.find("min-nodes")) fields.min_nodes = least->integer(1, kMostNodes);
  if (const auto hold = value.find("hold")) fields.hold = hold->duration();
  if (const auto spot = value.find("spot")) fields.spot = spot->boolean();
  if (const auto rdma = value.find("rdma")) fields.rdma = rdma->boolean();
  return fields;
}

}  // namespace

ClusterFile read_cluster_file(const Document& document) {
  const Value root = document.root();
  root.allow_only({"name", "provider", "nodes", "slots", "link-rate", "user", "hosts", "max-life",
                   "max-cost", "unattended", "idle", "cloud"});
  ClusterFile file;
  if (const auto name = root.find("name"))
    file.name = name->parsed([](const std::string& t) { return parse_cluster_name(t).value; });
  if (const auto provider = root.find("provider")) file.provider = provider->text();
  if (const auto nodes = root.find("nodes")) file.nodes = nodes->integer(1, kMostNodes);
  if (const auto slots = root.find("slots")) file.slots = slots->integer(1, kMostSlots);
  if (const auto rate = root.find("link-rate")) file.link_rate = rate->bit_rate();
  if (const auto user = root.find("user")) file.user = user_of(*user);
  if (const auto hosts = root.find("hosts")) file.hosts = hosts_of(*hosts);
  if (!file.hosts.empty() && file.provider.value_or("static") != "static")
    throw root.find("provider")
        ->error("hosts that are listed are those of provider static, not of '" +
                printable(*file.provider) + "'");
  file.guards = guards_of(root);
  if (const auto cloud = root.find("cloud")) file.cloud = cloud_of(*cloud);
  return file;
}

}  // namespace fastgpu::config
