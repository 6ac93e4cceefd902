#include "comm/rendezvous/connections.hpp"

#include "comm/transports/tcp_socket.hpp"

namespace fastgpu::comm {

int ranks_of_machine(const Connections& connections) {
  const Topology& topology = connections.topology;
  const int node = topology.node_of(connections.rank);
  auto ranks = static_cast<int>(topology.nodes.at(static_cast<std::size_t>(node)).size());
  for (std::size_t r = 0; r < connections.sockets.size(); ++r) {
    const auto& sockets = connections.sockets[r];
    const bool is_here = !sockets.empty() && is_within_host(sockets.front().get());
    if (is_here && topology.node_of({static_cast<int>(r)}) != node) ++ranks;
  }
  return ranks;
}

}  // namespace fastgpu::comm
