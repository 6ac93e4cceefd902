#include "cli/commands/job/host_choice.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/join.hpp"
#include "config/document.hpp"
#include "launcher/host_list.hpp"
#include "provision/cluster_file/host_file.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the name of the node that has this address; `host` itself if no node has it. The other
/// launchers run on the first node, which is their localhost.
std::string node_name_for(const std::string& host, std::span<const state::Node> nodes) {
  const auto is_named = [&](const state::Node& node) { return node.name.value == host; };
  if (std::ranges::any_of(nodes, is_named)) return host;
  const auto found = std::ranges::find_if(nodes, [&](const state::Node& node) {
    return node.address == host || node.private_address == host;
  });
  if (found != nodes.end()) return found->name.value;
  if (host != "localhost" || nodes.empty()) return host;
  return std::ranges::min_element(nodes, {}, &state::Node::index)->name.value;
}

}  // namespace

void describe_host_file(Arguments& arguments, std::string& hosts) {
  Argument& file = arguments.add({.name = "--hostfile", .value = "FILE"});
  file.help = "Read the nodes and their slots from a hostfile of mpirun";
  file.values = Values::path;
  file.take = [&hosts](const std::string& path) {
    if (!hosts.empty())
      throw Error(ErrorKind::usage, "run job: give the nodes by -H or by --hostfile, not by both");
    hosts = host_list_of(config::read_text(path), path);
  };
}

std::string host_list_of(std::string_view text, const std::string& source) {
  std::string list;
  for (const provision::HostEntry& host : provision::read_host_file(text, source)) {
    const std::string slots = host.slots ? std::to_string(*host.slots) : "*";
    append_item(list, host.address + ":" + slots, ",");
  }
  return list;
}

std::vector<launcher::NodeSlots> with_node_names(std::vector<launcher::NodeSlots> hosts,
                                                 std::span<const state::Node> nodes) {
  std::vector<launcher::NodeSlots> named;
  for (launcher::NodeSlots& host : hosts) {
    host.name.value = node_name_for(host.name.value, nodes);
    const auto known = std::ranges::find(named, host.name, &launcher::NodeSlots::name);
    if (known == named.end())
      named.push_back(std::move(host));
    else
      known->slots = launcher::sum_of_slots(known->slots, host.slots);
  }
  return named;
}

}  // namespace fastgpu::cli
