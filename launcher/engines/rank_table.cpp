#include "launcher/engines/rank_table.hpp"

#include <map>
#include <set>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/ip.hpp"
#include "base/json.hpp"

namespace fastgpu::launcher {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse_table(const RankTableNode& node, const std::string& why) {
  throw Error(ErrorKind::conflict, node.name.value + " " + why);
}

/// Returns the address of a processor in its one form; empty if it is unknown on a node that is
/// alone, where HCCL needs none.
std::string device_address(const RankTableNode& node, const agent::NpuDevice& npu, bool is_alone) {
  const std::string which = "Ascend processor " + std::to_string(npu.device);
  if (npu.address.empty() && is_alone) return {};
  if (npu.address.empty())
    refuse_table(node,
                 "has no address for " + which + " in /etc/hccn.conf, which other nodes need");
  try {
    return IpAddress::parse(npu.address).text();
  } catch (const Error&) {
    refuse_table(node, "has '" + printable(npu.address) + "' as the address of " + which);
  }
}

/// Gives out ranks, and remembers which addresses are taken.
class TableBuilder {
 public:
  explicit TableBuilder(bool is_alone) : is_alone_(is_alone) {}

  ordered_json server(const RankTableNode& node) {
    if (node.npus.size() < static_cast<std::size_t>(node.ranks))
      refuse_table(node, "has " + counted(node.npus.size(), "Ascend processor") + " for " +
                             counted(node.ranks, "rank"));
    if (!servers_.insert(node.address).second)
      refuse_table(node, "has the address of another node, " + node.address);
    ordered_json devices = ordered_json::array();
    for (const agent::NpuDevice& npu :
         std::span(node.npus).first(static_cast<std::size_t>(node.ranks)))
      devices.push_back(device(node, npu));
    return {{"server_id", node.address}, {"device", std::move(devices)}};
  }

 private:
  ordered_json device(const RankTableNode& node, const agent::NpuDevice& npu) {
    ordered_json entry = {{"device_id", std::to_string(npu.device)}};
    const std::string address = device_address(node, npu, is_alone_);
    if (!address.empty()) {
      const auto [taken, is_new] = owners_.try_emplace(address, node.name.value);
      if (!is_new)
        refuse_table(node, "has an Ascend processor with the address " + address +
                               ", which one of " + taken->second + " has, too");
      entry["device_ip"] = address;
    }
    entry["rank_id"] = std::to_string(next_rank_++);
    return entry;
  }

  bool is_alone_;
  int next_rank_ = 0;
  std::set<std::string> servers_{};
  std::map<std::string, std::string> owners_{};  ///< The nodes of the addresses.
};

}  // namespace

std::string rank_table(std::span<const RankTableNode> nodes) {
  TableBuilder builder(nodes.size() == 1);
  ordered_json servers = ordered_json::array();
  for (const RankTableNode& node : nodes)
    servers.push_back(builder.server(node));
  const ordered_json table = {{"status", "completed"},
                              {"version", "1.0"},
                              {"server_count", std::to_string(nodes.size())},
                              {"server_list", std::move(servers)}};
  return table.dump(1) + "\n";
}

}  // namespace fastgpu::launcher
