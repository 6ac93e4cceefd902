#include "agent/jobs/tensorflow_cluster.hpp"

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

}  // namespace

std::optional<std::string> tensorflow_config(const TensorflowCluster& cluster, int rank) {
  const auto nodes = static_cast<int>(cluster.nodes.size());
  if (cluster.size < 2 || cluster.size != nodes * cluster.ranks_a_node) return std::nullopt;
  if (cluster.port + cluster.ranks_a_node - 1 > kHighestPort) return std::nullopt;
  std::string workers;
  for (const std::string& node : cluster.nodes)
    for (int i = 0; i < cluster.ranks_a_node; ++i)
      workers += (workers.empty() ? "\"" : ",\"") + worker_at(node, cluster.port + i) + "\"";
  return R"({"cluster":{"worker":[)" + workers + R"(]},"task":{"type":"worker","index":)" +
         std::to_string(rank) + "}}";
}

std::optional<TensorflowCluster> tensorflow_cluster(const std::vector<std::string>& environment) {
  const auto number = [&](const char* name) {
    return to_number<int>(process::variable(environment, name).value_or(""));
  };
  const auto size = number("WORLD_SIZE");
  const auto ranks = number("LOCAL_WORLD_SIZE");
  const auto port =
      to_number<std::uint16_t>(process::variable(environment, "MASTER_PORT").value_or(""));
  const auto addresses = process::variable(environment, "FASTGPU_NODE_IPS");
  if (!size || !ranks || !port || !addresses) return std::nullopt;
  TensorflowCluster cluster{.ranks_a_node = *ranks, .size = *size, .port = *port};
  for (const std::string_view address : split_words(*addresses))
    cluster.nodes.emplace_back(address);
  return cluster;
}

}  // namespace fastgpu::agent
