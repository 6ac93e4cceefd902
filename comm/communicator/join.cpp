#include "comm/communicator/join.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/communicator/mpi_collectives.hpp"
#include "comm/mpi/messages.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/invitation.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "comm/rendezvous/network_probe.hpp"
#include "comm/rendezvous/peer_acceptor.hpp"
#include "comm/rendezvous/reconnections.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The timeout of one attempt to reach an address, which may be one of several.
constexpr auto kConnectTimeout = 10s;
/// The time for which a rank tries to reach another whose network is not there: a link that has
/// just come up takes some seconds, and so does the search for an address in it (3 s by default in
/// Linux).
constexpr auto kNetworkTimeout = 10s;
constexpr auto kNetworkPause = 200ms;

std::size_t index(Rank rank) {
  return static_cast<std::size_t>(rank.value);
}

PeerIdentity identity_of(const JobPlace& place, const Session& session) {
  return {place.rank, place.size, place.secret, session};
}

std::string master_name(const JobPlace& place) {
  if (place.meeting == Meeting::by_mpi) return "rank 0 (its address came by MPI)";
  return "rank 0 at " + printable(place.master_host) + ":" + std::to_string(place.master_port);
}

/// A network beside the first, on which this rank listens for further connections.
struct FurtherNetwork {
  UniqueFd listener;
  Endpoint listens_at;
};

/// This rank's connections, and what is needed to make more of them.
struct Mesh {
  Mesh(const JobPlace& place, UniqueFd own_listener)
      : sockets(static_cast<std::size_t>(place.size)),
        endpoints(static_cast<std::size_t>(place.size)),
        listener(std::move(own_listener)) {}

  void take(AcceptedPeers&& peers) {
    for (auto& [rank, peer] : peers)
      sockets[index(rank)].push_back(std::move(peer.socket));
  }

  std::vector<std::vector<UniqueFd>> sockets;  ///< The connections, by rank.
  std::vector<Endpoint> endpoints;             ///< The addresses of the ranks below this one.
  UniqueFd listener;
  Endpoint listens_at{};
  Session session{};
};

// ---- rank 0 ----

std::vector<Endpoint> points_of_master(const JobPlace& place, Deadline deadline) {
  return await_name([&] { return meeting_points(place); }, within(deadline, kNameTimeout));
}

/// Returns the remedy where another program listens at the port of rank 0.
std::string remedy_for_port(const JobPlace& place) {
  const std::string remedy = "set FASTGPU_COMM_MASTER_PORT to a free port for all ranks";
  switch (place.port_source) {
    case PortSource::ours:
      return remedy;
    case PortSource::master_port:
      return "torch.distributed and other libraries listen at MASTER_PORT, too: " + remedy;
    case PortSource::beside_torchrun:
      return "it is " + std::to_string(kPortsBesideTorchrun) +
             " from MASTER_PORT, at which torchrun listens: " + remedy;
  }
  return remedy;
}

UniqueFd open_listener(const JobPlace& place, Deadline deadline) {
  const std::vector<Endpoint> points = points_of_master(place, deadline);
  const Endpoint listener = listening_address(place, points.front(), place.master_port);
  check_interface(place, points, listener);
  try {
    return listen_at(listener);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::conflict) throw;
    throw Error(e.kind(), "rank 0: " + std::string(e.what()) + ". " + remedy_for_port(place));
  }
}

/// Returns the address at which `peer` reaches `other`. One that came to rank 0 over loopback is on
/// rank 0's machine, and from outside has the address at which `peer` met rank 0.
Endpoint seen_by(const AcceptedPeer& peer, const AcceptedPeer& other) {
  Endpoint endpoint = other.listens_at;
  if (!endpoint.is_loopback() || peer.listens_at.is_loopback()) return endpoint;
  const Endpoint here = local_end(peer.socket.get());
  return {here.family, here.address, endpoint.port};
}

void send_table(const AcceptedPeers& peers, Deadline deadline) {
  for (const auto& [rank, peer] : peers) {
    std::vector<std::byte> table;
    for (const auto& [other_rank, other] : peers) {
      const auto entry = encode(seen_by(peer, other));
      table.insert(table.end(), entry.begin(), entry.end());
    }
    try {
      send_all(peer.socket.get(), table, deadline);
    } catch (const Error& e) {
      throw e.during("rank " + std::to_string(rank.value));
    }
  }
}

Mesh accept_ranks(const JobPlace& place, UniqueFd listener, Deadline deadline) {
  Mesh mesh(place, std::move(listener));
  const PeerIdentity me = identity_of(place, {});
  const Session session = random_nonce();
  auto peers = PeerAcceptor(mesh.listener.get(), me, session).accept_all(deadline);
  send_table(peers, deadline);
  mesh.take(std::move(peers));
  mesh.session = session;
  return mesh;
}

// ---- the others ----

std::optional<Endpoint> source_address(const JobPlace& place, const Endpoint& to) {
  if (place.interface.empty()) return std::nullopt;
  return address_of_interface(place.interface, to);
}

/// A rank's connection to rank 0, and the address at which the rank listens itself.
struct MasterConnection {
  UniqueFd socket;
  UniqueFd listener;
  Endpoint listens_at;
  Session session{};
};

MasterConnection present_at(const JobPlace& place, UniqueFd master, Deadline deadline) {
  Endpoint here = local_end(master.get());
  UniqueFd listener = listen_at(listening_address(place, here, 0));
  here.port = local_end(listener.get()).port;
  const Session session = present(master.get(), identity_of(place, {}), here, deadline);
  return {std::move(master), std::move(listener), here, session};
}

/// Tries one address once; `obstacle` is what went wrong if trying again may help.
std::optional<MasterConnection> try_to_connect(const JobPlace& place, const Endpoint& point,
                                               Deadline deadline, std::string& obstacle) {
  const Deadline attempt = within(deadline, kConnectTimeout);
  PeerConnection connection = connect_to(point, source_address(place, point), attempt);
  if (connection.error != 0) {
    obstacle = to_string(point) + ": " + std::generic_category().message(connection.error);
    return std::nullopt;
  }
  try {
    return present_at(place, std::move(connection.socket), attempt);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::transient && e.kind() != ErrorKind::timeout)
      throw e.during("rank " + std::to_string(place.rank.value) + ": " + master_name(place));
    obstacle = to_string(point) + ": " + e.what();
    // A connection without an answer, or with an end to it: that of another program, perhaps.
    if (place.meeting == Meeting::at_address)
      obstacle += "; if another program listens there, " + remedy_for_port(place);
    return std::nullopt;
  }
}

void pause(std::chrono::milliseconds duration, Deadline deadline) {
  poll_until({}, within(deadline, duration));
}

/// Keeps trying until rank 0 is there: ranks start in any order.
MasterConnection connect_to_master(const JobPlace& place, Deadline deadline) {
  std::string obstacle;
  auto wait = 10ms;
  while (!deadline.passed()) {
    for (const Endpoint& point : points_of_master(place, deadline))
      if (auto master = try_to_connect(place, point, deadline, obstacle)) return std::move(*master);
    pause(wait, deadline);
    wait = std::min(wait * 2, std::chrono::milliseconds(500));
  }
  throw Error(ErrorKind::timeout, "rank " + std::to_string(place.rank.value) + ": " +
                                      master_name(place) + " did not let it in within " +
                                      fastgpu::to_string(place.timeout) + " (last: " + obstacle +
                                      ")");
}

/// Returns the addresses at which the other ranks listen; element r-1 is that of rank r.
std::vector<Endpoint> receive_table(const JobPlace& place, int master, Deadline deadline) try {
  std::vector<std::byte> table(static_cast<std::size_t>(place.size - 1) * kEndpointBytes);
  receive_all(master, table, deadline);
  std::vector<Endpoint> endpoints;
  for (std::size_t at = 0; at < table.size(); at += kEndpointBytes) {
    const auto endpoint = decode_endpoint(std::span(table).subspan(at, kEndpointBytes));
    if (!endpoint) throw Error(ErrorKind::remote, "it named an address that is none");
    endpoints.push_back(*endpoint);
  }
  return endpoints;
} catch (const Error& e) {
  throw as_lost(e).during("rank " + std::to_string(place.rank.value) + " heard from " +
                          master_name(place) + " but not where the others are");
}

/// Returns true if a network that is just coming up fails like this for some seconds.
bool is_unreachable(int error) {
  return error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN;
}

/// Connects as `connect_to` does, and tries again for a while where the network is not there.
PeerConnection connect_when_reachable(const Endpoint& endpoint,
                                      const std::optional<Endpoint>& source, Deadline deadline) {
  const Deadline last_try = within(deadline, kNetworkTimeout);
  for (;;) {
    PeerConnection connection = connect_to(endpoint, source, deadline);
    if (!is_unreachable(connection.error) || last_try.passed()) return connection;
    pause(kNetworkPause, last_try);
  }
}

/// Connects to a rank at one of its addresses, from the address `source` if one is given.
UniqueFd connect_to_peer(const JobPlace& place, const Mesh& mesh, Rank peer,
                         const Endpoint& endpoint, const std::optional<Endpoint>& source,
                         Deadline deadline) {
  const std::string doing = "rank " + std::to_string(place.rank.value) + ": rank " +
                            std::to_string(peer.value) + " at " + to_string(endpoint);
  PeerConnection connection = connect_when_reachable(endpoint, source, deadline);
  if (connection.error != 0)
    throw Error(ErrorKind::transient,
                doing + ": " + std::generic_category().message(connection.error));
  try {
    present(connection.socket.get(), identity_of(place, mesh.session), mesh.listens_at, deadline);
  } catch (const Error& e) {
    throw as_lost(e).during(doing);
  }
  return std::move(connection.socket);
}

/// Connects to a rank on the first network.
UniqueFd connect_to_peer(const JobPlace& place, const Mesh& mesh, Rank peer, Deadline deadline) {
  const Endpoint& endpoint = mesh.endpoints[index(peer)];
  return connect_to_peer(place, mesh, peer, endpoint, source_address(place, endpoint), deadline);
}

/// Connects to the ranks below this one, and accepts those above it.
Mesh connect_to_ranks(const JobPlace& place, Deadline deadline) {
  MasterConnection master = connect_to_master(place, deadline);
  const auto endpoints = receive_table(place, master.socket.get(), deadline);
  Mesh mesh(place, std::move(master.listener));
  mesh.listens_at = master.listens_at;
  mesh.session = master.session;
  mesh.endpoints[0] = remote_end(master.socket.get());
  std::ranges::copy(endpoints, mesh.endpoints.begin() + 1);
  // Each machine numbers its links by itself: link-local addresses are those of the link to rank 0.
  const std::uint32_t zone = local_end(master.socket.get()).zone;
  for (Endpoint& endpoint : mesh.endpoints)
    if (endpoint.is_link_local() && endpoint.zone == 0) endpoint.zone = zone;
  mesh.sockets[0].push_back(std::move(master.socket));
  for (Rank peer{1}; peer < place.rank; ++peer.value)
    mesh.sockets[index(peer)].push_back(connect_to_peer(place, mesh, peer, deadline));
  const PeerIdentity me = identity_of(place, mesh.session);
  mesh.take(PeerAcceptor(mesh.listener.get(), me, mesh.session).accept_all(deadline));
  return mesh;
}

// ---- all ----

/// Throws usage if an interface beside the first is missing, or may not be listened on.
void check_further_interfaces(const JobPlace& place) {
  for (const std::string& name : place.further_interfaces)
    number_of_interface(name);
  if (place.further_interfaces.empty() || has_secret(place)) return;
  throw Error(ErrorKind::usage, "rank " + std::to_string(place.rank.value) +
                                    ": FASTGPU_COMM_INTERFACE names several interfaces, which "
                                    "needs a secret: set the same FASTGPU_COMM_SECRET for all "
                                    "ranks");
}

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

/// Listens on the interfaces of FASTGPU_COMM_INTERFACE beside the first.
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

/// Makes the connections beyond the first, in the same order on all ranks. The networks take turns.
void connect_further(const JobPlace& place, Mesh& mesh, const FurtherSockets& wanted,
                     const std::vector<FurtherNetwork>& networks, Deadline deadline) {
  const auto connect = [&](Rank peer, std::size_t flow) {
    const std::size_t network = flow % (networks.size() + 1);
    if (network == 0) return connect_to_peer(place, mesh, peer, deadline);
    Endpoint source = networks[network - 1].listens_at;
    source.port = 0;
    const Endpoint& there = wanted.addresses[index(peer)][network - 1];
    return connect_to_peer(place, mesh, peer, there, source, deadline);
  };
  std::map<Rank, int> awaited;
  for (Rank peer{0}; peer.value < place.size; ++peer.value) {
    const int flows = peer == place.rank ? 1 : wanted.flows[index(peer)];
    if (peer > place.rank && flows > 1) awaited.emplace(peer, flows - 1);
    for (int flow = 1; peer < place.rank && flow < flows; ++flow)
      mesh.sockets[index(peer)].push_back(connect(peer, static_cast<std::size_t>(flow)));
  }
  std::vector<int> listeners{mesh.listener.get()};
  for (const FurtherNetwork& network : networks)
    listeners.push_back(network.listener.get());
  const PeerIdentity me = identity_of(place, mesh.session);
  PeerAcceptor acceptor(std::move(listeners), me, std::move(awaited));
  mesh.take(acceptor.accept_all(deadline));
}

/// The limit for a measurement of the networks between two ranks.
constexpr auto kProbeTime = 2s;

/// Measures the networks between this rank and another, if it is one that does.
ProbeResult measure(const JobPlace& place, Mesh& mesh, const Connections& connections,
                    const Wishes& wishes, const FurtherSockets& further,
                    const std::vector<FurtherNetwork>& networks, Deadline deadline) {
  const auto partner = probe_partner(connections.topology, place.rank);
  if (!partner || !connections.fabric || !connections.fabric->reaches(*partner)) return {};
  if (!wishes.may_measure || !further.may_measure[index(*partner)]) return {};
  const int theirs = further.wished[index(*partner)];
  const int flows =
      std::min(wishes.flows.value_or(kUsualFlows), theirs == 0 ? kUsualFlows : theirs);
  FurtherSockets wanted{.flows = std::vector(further.flows.size(), 1),
                        .addresses = further.addresses};
  wanted.flows[index(*partner)] = 1 + 2 * flows;
  connect_further(place, mesh, wanted, networks, deadline);
  ProbedNetworks probed{.fabric = nullptr, .alone = std::move(mesh.sockets[index(*partner)])};
  std::move(probed.alone.begin() + flows, probed.alone.end(), std::back_inserter(probed.beside));
  probed.alone.resize(static_cast<std::size_t>(flows));
  try {
    probed.fabric = open_probed_fabric(connections, wishes, *partner, deadline);
    const ProbedPair pair =
        measure_networks(place.rank, *partner, place.size, std::move(probed), Deadline(kProbeTime));
    return {.pair = place.rank < *partner ? std::optional(pair) : std::nullopt};
  } catch (const Error& e) {
    return {.failure =
                e.kind() == ErrorKind::timeout ? ProbeFailure::took_too_long : ProbeFailure::other};
  }
}

/// Lets the fabric and TCP carry messages together if they carry more so.
void choose_networks(const JobPlace& place, Mesh& mesh, Connections& connections,
                     const Wishes& wishes, FurtherSockets& further,
                     const std::vector<FurtherNetwork>& networks, Deadline deadline) {
  mesh.sockets.clear();
  mesh.sockets.resize(static_cast<std::size_t>(place.size));
  const ProbeResult mine = measure(place, mesh, connections, wishes, further, networks, deadline);
  const ProbedJob probed = exchange_results(connections, mine, deadline);
  if (probed.pairs.empty() && !probed.failed) return;
  const bool is_hybrid = !probed.failed && is_hybrid_better(probed.pairs);
  if (is_hybrid) become_hybrid(connections, wishes, further);
  if (place.rank != Rank{0}) return;
  std::string& report = connections.network_report;
  if (!report.empty()) report += ". ";
  report += report_of_probe(probed, is_hybrid);
}

/// Returns what replaces the connections of a network that comes back. Keeps the listeners.
std::unique_ptr<Reconnector> reconnector_of(const JobPlace& place, Mesh&& mesh,
                                            const FurtherSockets& wanted,
                                            std::vector<FurtherNetwork>&& further) {
  const Endpoint first = local_end(mesh.listener.get());
  std::vector<JoinedNetwork> networks;
  networks.push_back({std::move(mesh.listener), first, std::move(mesh.endpoints)});
  for (std::size_t i = 0; i < further.size(); ++i) {
    JoinedNetwork network{std::move(further[i].listener), further[i].listens_at, {}};
    for (Rank peer{0}; peer < place.rank; ++peer.value)
      network.endpoints.push_back(wanted.addresses[index(peer)][i]);
    networks.push_back(std::move(network));
  }
  return std::make_unique<Reconnections>(identity_of(place, mesh.session), std::move(networks));
}

/// Raises a soft limit of this process to the hard one.
void raise_limit(auto resource) noexcept {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(resource, &limit);
}

/// A rank has a connection to each other one, and shells allow 1024 descriptors where more cost
/// nothing. A fabric locks the memory of messages.
void raise_limits(const JobPlace& place) noexcept {
  raise_limit(RLIMIT_NOFILE);
  if (place.fabric.need != fabric::FabricNeed::none) raise_limit(RLIMIT_MEMLOCK);
}

/// Returns this machine's address on the way to the other ranks.
std::string near_address(const Connections& connections) {
  for (const auto& sockets : connections.sockets)
    if (!sockets.empty()) return address_text(local_end(sockets.front().get()));
  return {};
}

bool needs_mpi(const JobPlace& place) {
  return place.meeting == Meeting::by_mpi || place.transport == NetworkTransport::mpi ||
         place.collectives == CollectiveLibrary::mpi;
}

}  // namespace

Connections join(const JobPlace& wanted) {
  raise_limits(wanted);
  const Deadline deadline(wanted.timeout);
  JobPlace place = wanted;
  Connections connections{.rank = place.rank, .size = place.size, .timeout = place.wait_timeout};
  connections.silence = place.silence;
  connections.algorithm = place.algorithm;
  connections.sockets.resize(static_cast<std::size_t>(place.size));
  if (place.size == 1) return connections;
  check_further_interfaces(place);
  UniqueFd listener;
  if (needs_mpi(place)) {
    const mpi::Member me{place.rank, place.size, place.mpi_plugin};
    const auto world = std::make_shared<const mpi::MpiWorld>(me, deadline);
    if (place.meeting == Meeting::by_mpi) listener = invite_by_mpi(place, *world, deadline);
    if (place.transport == NetworkTransport::mpi) connections.messages = mpi::messages_of(world);
    if (place.collectives == CollectiveLibrary::mpi)
      connections.collectives = std::make_shared<mpi::MpiCollectives>(world);
  }
  if (place.rank == Rank{0} && !listener) listener = open_listener(place, deadline);
  Mesh mesh = place.rank == Rank{0} ? accept_ranks(place, std::move(listener), deadline)
                                    : connect_to_ranks(place, deadline);
  connections.sockets = std::move(mesh.sockets);
  const bool is_by_mpi = place.transport == NetworkTransport::mpi;
  auto networks = or_take_leave(connections, deadline,
                                [&] { return listen_on_further(place, mesh, deadline); });
  Wishes wishes{.shared_memory = place.shared_memory,
                .flows = is_by_mpi ? std::optional(1) : place.flows,
                .transport = place.transport,
                .algorithm = place.algorithm,
                .collectives = place.collectives,
                .fabric = place.fabric,
                .near = near_address(connections)};
  connections.networks = static_cast<int>(networks.size()) + 1;
  for (const FurtherNetwork& network : networks)
    wishes.further.push_back(network.listens_at);
  wishes.may_measure = place.transport == NetworkTransport::automatic &&
                       !place.fabric.is_required && place.fabric.further_devices.empty();
  auto further = introduce(connections, wishes, deadline);
  if (place.transport == NetworkTransport::automatic)
    choose_networks(place, mesh, connections, wishes, further, networks, deadline);
  mesh.sockets = std::move(connections.sockets);
  connect_further(place, mesh, further, networks, deadline);
  connections.sockets = std::move(mesh.sockets);
  if (!networks.empty() || (connections.is_hybrid && has_secret(place)))
    connections.reconnector = reconnector_of(place, std::move(mesh), further, std::move(networks));
  return connections;
}

}  // namespace fastgpu::comm
