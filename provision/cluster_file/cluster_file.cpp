#include "provision/cluster_file/cluster_file.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/counted.hpp"
#include "base/host_names.hpp"
#include "base/ip.hpp"
#include "base/literals.hpp"
#include "base/money.hpp"
#include "base/name_ranges.hpp"
#include "base/names.hpp"
#include "provision/cluster_file/host_word.hpp"
#include "provision/cluster_spec.hpp"
#include "state/words.hpp"

namespace fastgpu::provision {
namespace {

constexpr int kHighestPort = 65'535;
constexpr std::uint16_t kSshPort = 22;

std::string user_of(const config::Value& value) {
  return value.parsed([](const std::string& text) { return check_user(text), text; });
}

std::uint16_t port_of(const config::Value& value) {
  return static_cast<std::uint16_t>(value.integer(1, kHighestPort));
}

std::string host_key_of(const config::Value& value) {
  const std::string text = value.text();
  const std::size_t space = text.find(' ');
  const bool is_line = text.find('\n') == std::string::npos;
  if (!is_line || space == 0 || space == std::string::npos || space + 1 == text.size())
    throw value.error("'" + printable(text) +
                      "' is not a host key: write it like 'ssh-ed25519 AAAA...'");
  return text;
}

/// Returns the keys: one under host_key, or several under host_keys.
std::vector<std::string> host_keys_of(const config::Value& host) {
  std::vector<std::string> keys;
  if (const auto one = host.find("host_key")) keys.push_back(host_key_of(*one));
  if (const auto several = host.find("host_keys"))
    for (const config::Value& key : several->list())
      keys.push_back(host_key_of(key));
  return keys;
}

config::Value required(const config::Value& map, std::string_view key) {
  if (auto value = map.find(key)) return *std::move(value);
  throw map.error("'" + std::string(key) + "' is missing");
}

std::vector<HostWord> words_of(const config::Value& value) {
  return value.parsed([](const std::string& text) { return parse_host_words(text); });
}

/// Reads a jump host's address, which may include a user and a port.
JumpEntry jump_at(const config::Value& value) {
  const HostWord word = value.parsed([](const std::string& text) { return parse_host_word(text); });
  return {.address = word.address, .port = word.port, .user = word.user};
}

/// Throws if the address contains a value that the same map also has in a field of its own.
void check_is_single(const config::Value& map, std::string_view key, bool is_in_word) {
  if (is_in_word && map.find(key))
    throw map.error("'" + std::string(key) + "' is given twice: in the address, and by itself");
}

/// Reads the fields that hosts and jump hosts share.
template <class Place>
void read_place(const config::Value& map, Place& place) {
  check_is_single(map, "port", place.port.has_value());
  check_is_single(map, "user", !place.user.empty());
  if (const auto port = map.find("port")) place.port = port_of(*port);
  if (const auto user = map.find("user")) place.user = user_of(*user);
  if (const auto identity = map.find("identity")) place.identity = identity->filled_text();
  place.host_keys = host_keys_of(map);
}

JumpEntry jump_of(const config::Value& value) {
  if (!value.is_map()) return jump_at(value);
  value.allow_only({"address", "port", "user", "identity", "host_key", "host_keys"});
  JumpEntry jump = jump_at(required(value, "address"));
  read_place(value, jump);
  return jump;
}

/// Reads one jump host, a list of them, or "none".
std::vector<JumpEntry> jumps_of(const config::Value& value) {
  if (value.is_map()) return {jump_of(value)};
  if (!value.is_list() && value.text() == "none") return {};
  if (!value.is_list()) return {jump_of(value)};
  std::vector<JumpEntry> jumps;
  for (const config::Value& jump : value.list())
    jumps.push_back(jump_of(jump));
  return jumps;
}

/// Throws if a field has values for another number of hosts than the item's address.
void check_is_one_each(const config::Value& value, std::size_t number, std::size_t hosts) {
  if (number != hosts)
    throw value.error("'" + printable(value.text()) + "' names " + counted(number, "host") +
                      ", but the address is that of " + counted(hosts, "host"));
}

/// Reads the addresses at which the hosts of one item reach each other.
std::vector<HostWord> inner_of(const config::Value& value, std::size_t hosts) {
  std::vector<HostWord> words = words_of(value);
  check_is_one_each(value, words.size(), hosts);
  for (const HostWord& word : words)
    if (!word.user.empty()) throw value.error("a user has no place here: 'user' names it");
  return words;
}

/// Reads the names of the hosts of one item, such as "gpu-[1-4]". Throws unless there is one for
/// each host.
std::vector<std::string> names_of(const config::Value& value, std::size_t hosts) {
  const auto names = value.parsed([&](const std::string& text) {
    auto all = expand_name(text, kMostNodes);
    for (const std::string& name : all ? *all : std::vector{text})
      check_dotted_name("host name", name);
    return *std::move(all);
  });
  check_is_one_each(value, names.size(), hosts);
  return names;
}

/// Reads one item of the list: words that name hosts, or a map whose address consists of such
/// words.
std::vector<HostEntry> hosts_in(const config::Value& value, const HostEntry& defaults) {
  if (value.is_map())
    value.allow_only({"name", "address", "port", "user", "inner", "slots", "identity", "host_key",
                      "host_keys", "jump"});
  std::vector<HostEntry> hosts;
  for (const HostWord& word : words_of(value.is_map() ? required(value, "address") : value)) {
    HostEntry host = defaults;
    host.address = word.address;
    host.where = value.where();
    host.user = word.user;
    host.port = word.port;
    if (value.is_map()) {
      read_place(value, host);
      if (const auto slots = value.find("slots")) host.slots = slots->integer(1, kMostSlots);
      if (const auto jump = value.find("jump")) host.jumps = jumps_of(*jump);
    }
    if (!host.port) host.port = defaults.port;
    hosts.push_back(std::move(host));
  }
  if (!value.is_map()) return hosts;
  if (const auto inner = value.find("inner")) {
    const auto all = inner_of(*inner, hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      hosts[i].inner = all[i].address;
      hosts[i].inner_port = all[i].port;
    }
  }
  if (const auto name = value.find("name")) {
    const auto all = names_of(*name, hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i)
      hosts[i].name = all[i];
  }
  return hosts;
}

std::vector<HostEntry> hosts_of(const config::Value& value, const HostEntry& defaults) {
  std::vector<HostEntry> hosts;
  std::set<std::string> names;
  std::set<std::pair<std::string, std::uint16_t>> places, inner_places;
  const bool is_one_word = !value.is_list() && !value.is_map() && !value.is_null();
  for (const config::Value& item : is_one_word ? std::vector{value} : value.list()) {
    for (HostEntry& host : hosts_in(item, defaults)) {
      if (!host.name.empty() && !names.insert(host.name).second)
        throw item.error("host name '" + host.name + "' is there twice");
      const std::uint16_t port = host.port.value_or(kSshPort);
      if (!places.emplace(host.address, port).second)
        throw item.error("host " + host.address + " port " + std::to_string(port) +
                         " is there twice");
      const std::uint16_t inner_port = host.inner_port.value_or(kSshPort);
      if (!host.inner.empty() && !inner_places.emplace(host.inner, inner_port).second)
        throw item.error("inner address " + host.inner + " port " + std::to_string(inner_port) +
                         " is there twice");
      if (hosts.size() == kMostNodes)
        throw item.error("there are over " + counted(kMostNodes, "host"));
      hosts.push_back(std::move(host));
    }
  }
  if (hosts.empty()) throw value.error("there must be at least one host");
  return hosts;
}

/// Reads the defaults for hosts that do not set these fields themselves.
HostEntry host_defaults_of(const config::Value& root) {
  HostEntry defaults;
  if (const auto port = root.find("port")) defaults.port = port_of(*port);
  if (const auto identity = root.find("identity")) defaults.identity = identity->filled_text();
  if (const auto jump = root.find("jump")) defaults.jumps = jumps_of(*jump);
  return defaults;
}

std::string time_of(const config::Value& value) {
  value.duration();
  return value.text();
}

std::string money_of(const config::Value& value) {
  value.parsed([](const std::string& text) { return parse_money(text); });
  return value.text();
}

/// Returns a checked price per hour: "20USD", "20USD/h".
std::string price_of(const config::Value& value) {
  value.parsed([](std::string_view text) {
    return parse_money(text.ends_with("/h") ? text.substr(0, text.size() - 2) : text);
  });
  return value.text();
}

/// Reads "stop after 30m, delete after 7d", or only one of both.
void read_idle(const config::Value& value, GuardEntry& guards) {
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
                        "' is not a rule: write it like 'stop after 30m, delete after 7d'");
    guard = rule.substr(verb.size());
    value.parsed([&](const std::string&) { return parse_duration(guard); });
    begin = end + 1;
  }
}

GuardEntry guards_of(const config::Value& root) {
  GuardEntry guards;
  if (const auto life = root.find("max-life")) guards.max_life = time_of(*life);
  if (const auto cost = root.find("max-cost")) guards.max_cost = money_of(*cost);
  if (const auto time = root.find("unattended")) guards.unattended = time_of(*time);
  if (const auto idle = root.find("idle")) read_idle(*idle, guards);
  return guards;
}

/// Returns the texts of a list, or a single text as a list.
std::vector<std::string> texts_of(const config::Value& value) {
  if (value.is_list()) return value.texts();
  return {value.text()};
}

std::vector<std::string> ranges_of(const config::Value& value) {
  const std::vector<config::Value> values = value.is_list() ? value.list() : std::vector{value};
  for (const config::Value& one : values)
    one.parsed([](const std::string& text) { return IpRange::parse(text); });
  return texts_of(value);
}

int disk_of(const config::Value& value) {
  constexpr int kLargestDisk = 32'768;
  return value.parsed([](const std::string& text) { return parse_gib(text, 1, kLargestDisk); });
}

CloudFields cloud_of(const config::Value& value) {
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

ClusterFile read_cluster_file(const config::Document& document) {
  const config::Value root = document.root();
  root.allow_only({"name", "provider", "nodes", "slots", "link-rate", "user", "port", "identity",
                   "jump", "hosts", "max-life", "max-cost", "unattended", "idle", "scheduler",
                   "cloud"});
  ClusterFile file;
  if (const auto name = root.find("name"))
    file.name = name->parsed([](const std::string& t) { return parse_cluster_name(t).value; });
  if (const auto provider = root.find("provider")) file.provider = provider->filled_text();
  if (const auto nodes = root.find("nodes")) file.nodes = nodes->integer(1, kMostNodes);
  if (const auto slots = root.find("slots")) file.slots = slots->integer(1, kMostSlots);
  if (const auto rate = root.find("link-rate")) file.link_rate = rate->bit_rate();
  if (const auto user = root.find("user")) file.user = user_of(*user);
  file.host_defaults = host_defaults_of(root);
  if (const auto hosts = root.find("hosts")) file.hosts = hosts_of(*hosts, file.host_defaults);
  if (!file.hosts.empty() && file.provider.value_or("static") != "static")
    throw root.find("provider")
        ->error("hosts that are listed are those of provider static, not of '" +
                printable(*file.provider) + "'");
  file.guards = guards_of(root);
  if (const auto scheduler = root.find("scheduler"))
    file.scheduler =
        state::parse_scheduler(scheduler->choice(std::array<std::string, 2>{"none", "slurm"}));
  if (const auto cloud = root.find("cloud")) file.cloud = cloud_of(*cloud);
  return file;
}

}  // namespace fastgpu::provision
