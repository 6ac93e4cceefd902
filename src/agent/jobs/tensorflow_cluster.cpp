#include "agent/jobs/tensorflow_cluster.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/numbers.hpp"
#include "base/split.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {
namespace {

constexpr int kHighestPort = 65'535;

/// Returns "10.0.0.1:20433", or "[fd00::1]:20433".
std::string worker_at(const std::string& address, int port) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

/// Returns true if the list of workers has the worker at the place of its rank.
bool is_in_order(const TensorflowCluster& cluster, const TensorflowWorker& worker) {
  const auto nodes = static_cast<int>(cluster.nodes.size());
  if (worker.node < 0 || worker.node >= nodes) return false;
  int before = 0;
  for (int i = 0; i < worker.node; ++i)
    before += cluster.nodes[static_cast<std::size_t>(i)].ranks;
  const int here = cluster.nodes[static_cast<std::size_t>(worker.node)].ranks;
  return worker.on_node >= 0 && worker.on_node < here && worker.rank == before + worker.on_node;
}

}  // namespace

std::optional<std::string> tensorflow_config(const TensorflowCluster& cluster,
                                             const TensorflowWorker& worker) {
  int size = 0;
  int most = 0;
  for (const TensorflowNode& node : cluster.nodes) {
    size += node.ranks;
    most = std::max(most, node.ranks);
  }
  if (size < 2 || cluster.port + most - 1 > kHighestPort) return std::nullopt;
  if (!is_in_order(cluster, worker)) return std::nullopt;
  std::string workers;
  for (const TensorflowNode& node : cluster.nodes)
    for (int i = 0; i < node.ranks; ++i)
      workers +=
          (workers.empty() ? "\"" : ",\"") + worker_at(node.address, cluster.port + i) + "\"";
  return R"({"cluster":{"worker":[)" + workers + R"(]},"task":{"type":"worker","index":)" +
         std::to_string(worker.rank) + "}}";
}

std::optional<TensorflowCluster> tensorflow_cluster(const std::vector<std::string>& environment,
                                                    const std::vector<int>& ranks_by_node) {
  const auto port =
      to_number<std::uint16_t>(process::variable(environment, "MASTER_PORT").value_or(""));
  const auto addresses = process::variable(environment, "FASTGPU_NODE_IPS");
  if (!port || !addresses) return std::nullopt;
  TensorflowCluster cluster{.port = *port};
  for (const std::string_view address : split_words(*addresses)) {
    if (cluster.nodes.size() == ranks_by_node.size()) return std::nullopt;
    const int ranks = ranks_by_node[cluster.nodes.size()];
    cluster.nodes.push_back({.address = std::string(address), .ranks = ranks});
  }
  if (cluster.nodes.size() != ranks_by_node.size()) return std::nullopt;
  return cluster;
}

}  // namespace fastgpu::agent
