#include "comm/rendezvous/further_networks.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "comm/rendezvous/peer_acceptor.hpp"
#include "comm/rendezvous/reconnections.hpp"

namespace fastgpu::comm {
namespace {

/// Waits for an interface that is down: a machine that has just started may need some seconds.
void await_interface(const std::string& name, Deadline deadline) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  for (;;) {
    const std::string trouble = trouble_of_interface(name);
    if (trouble.empty()) return;
    if (deadline.passed())
      throw Error(ErrorKind::usage,
                  "interface '" + printable(name) + "' of FASTGPU_COMM_INTERFACE " + trouble);
    check_interrupt();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

void check_further_interfaces(const JobPlace& place) {
  for (const std::string& name : place.further_interfaces)
    number_of_interface(name);
  if (place.further_interfaces.empty() || has_secret(place)) return;
  throw Error(ErrorKind::usage, "rank " + std::to_string(place.rank.value) +
                                    ": FASTGPU_COMM_INTERFACE names several interfaces, which "
                                    "needs a secret: set the same FASTGPU_COMM_SECRET for all "
                                    "ranks");
}

std::vector<FurtherNetwork> listen_on_further(const JobPlace& place, const Mesh& mesh,
                                              Deadline deadline) {
  std::vector<FurtherNetwork> networks;
  const Endpoint first = local_end(mesh.listener.get());
  for (const std::string& name : place.further_interfaces) {
    await_interface(name, deadline);
    Endpoint address = address_of_interface(name, first);
    if (address.is_loopback() && !first.is_loopback())
      throw Error(ErrorKind::usage, "interface '" + printable(name) +
                                        "' of FASTGPU_COMM_INTERFACE leads to no other machine");
    UniqueFd listener = listen_at(address);
    address.port = local_end(listener.get()).port;
    networks.push_back({std::move(listener), address});
  }
  return networks;
}

SocketsByRank connect_further(const JobPlace& place, const Mesh& mesh,
                              const std::vector<FurtherNetwork>& networks,
                              const FurtherSockets& wanted, Deadline deadline,
                              const std::function<void()>& check) {
  const auto connect = [&](Rank peer, std::size_t flow) {
    const std::size_t network = flow % (networks.size() + 1);
    if (network == 0) return connect_to_peer(place, mesh, peer, deadline);
    Endpoint source = networks[network - 1].listens_at;
    source.port = 0;
    const Endpoint& there = wanted.addresses[index_of(peer)][network - 1];
    return connect_to_peer(mesh, peer, there, source, deadline);
  };
  SocketsByRank sockets(static_cast<std::size_t>(place.size));
  std::map<Rank, int> awaited;
  for (Rank peer{0}; peer.value < place.size; ++peer.value) {
    const int flows = peer == place.rank ? 1 : wanted.flows[index_of(peer)];
    if (peer > place.rank && flows > 1) awaited.emplace(peer, flows - 1);
    for (int flow = 1; peer < place.rank && flow < flows; ++flow)
      sockets[index_of(peer)].push_back(connect(peer, static_cast<std::size_t>(flow)));
  }
  std::vector<int> listeners{mesh.listener.get()};
  for (const FurtherNetwork& network : networks)
    listeners.push_back(network.listener.get());
  PeerAcceptor acceptor(std::move(listeners), mesh.me, std::move(awaited));
  add(sockets, acceptor.accept_all(deadline, check));
  return sockets;
}

std::unique_ptr<Reconnector> reconnector_of(Mesh&& mesh, std::vector<FurtherNetwork>&& networks,
                                            const FurtherSockets& wanted) {
  const Endpoint first = local_end(mesh.listener.get());
  std::vector<JoinedNetwork> joined;
  joined.push_back({std::move(mesh.listener), first, std::move(mesh.endpoints)});
  for (std::size_t i = 0; i < networks.size(); ++i) {
    JoinedNetwork network{std::move(networks[i].listener), networks[i].listens_at, {}};
    for (Rank peer{0}; peer < mesh.me.rank; ++peer.value)
      network.endpoints.push_back(wanted.addresses[index_of(peer)][i]);
    joined.push_back(std::move(network));
  }
  return std::make_unique<Reconnections>(std::move(mesh.me), std::move(joined));
}

}  // namespace fastgpu::comm
