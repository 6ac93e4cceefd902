#include "comm/rendezvous/mesh.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/common/nonce.hpp"
#include "comm/rendezvous/farewells.hpp"
#include "comm/rendezvous/master.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The time for which a rank tries to reach another whose network is not there: a link that has
/// just come up takes some seconds, and so does the search for an address in it (3 s by default in
/// Linux).
constexpr auto kNetworkTimeout = 10s;
constexpr auto kNetworkPause = 200ms;

/// The time in which the system of a rank that listens answers, however busy the rank is. The
/// others need the rest of their time to learn the reason.
constexpr std::chrono::milliseconds kReachTimeout = 20s;

Mesh mesh_of(const JobPlace& place, UniqueFd listener) {
  const auto ranks = static_cast<std::size_t>(place.size);
  return {.sockets = SocketsByRank(ranks),
          .endpoints = std::vector<Endpoint>(ranks),
          .listener = std::move(listener),
          .me = identity_of(place)};
}

// ---- rank 0 ----

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
  Mesh mesh = mesh_of(place, std::move(listener));
  const Session session = random_nonce();
  auto peers = PeerAcceptor(mesh.listener.get(), mesh.me, session).accept_all(deadline);
  send_table(peers, deadline);
  add(mesh.sockets, std::move(peers));
  mesh.me.session = session;
  return mesh;
}

// ---- the others ----

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
    poll_until({}, within(last_try, kNetworkPause));
  }
}

/// Connects to the ranks below this one, and accepts those above it.
Mesh connect_to_ranks(const JobPlace& place, Deadline deadline) {
  MasterConnection master = connect_to_master(place, deadline);
  const auto endpoints = receive_table(place, master.socket.get(), deadline);
  Mesh mesh = mesh_of(place, std::move(master.listener));
  mesh.listens_at = master.listens_at;
  mesh.me.session = master.session;
  mesh.endpoints[0] = remote_end(master.socket.get());
  std::ranges::copy(endpoints, mesh.endpoints.begin() + 1);
  // Each machine numbers its links by itself: link-local addresses are those of the link to rank 0.
  const std::uint32_t zone = local_end(master.socket.get()).zone;
  for (Endpoint& endpoint : mesh.endpoints)
    if (endpoint.is_link_local() && endpoint.zone == 0) endpoint.zone = zone;
  mesh.sockets[0].push_back(std::move(master.socket));
  const Farewells farewells(place.rank, mesh.sockets);
  farewells.around([&] {
    for (Rank peer{1}; peer < place.rank; ++peer.value)
      mesh.sockets[index_of(peer)].push_back(connect_to_peer(place, mesh, peer, deadline));
    PeerAcceptor acceptor(mesh.listener.get(), mesh.me, mesh.me.session);
    add(mesh.sockets, acceptor.accept_all(deadline, [&] { farewells.check(); }));
  });
  return mesh;
}

}  // namespace

void add(SocketsByRank& sockets, AcceptedPeers&& accepted) {
  for (auto& [rank, peer] : accepted)
    sockets[index_of(rank)].push_back(std::move(peer.socket));
}

Mesh meet_ranks(const JobPlace& place, UniqueFd listener, Deadline deadline) {
  if (place.rank != Rank{0}) return connect_to_ranks(place, deadline);
  if (!listener) listener = listen_as_master(place, deadline);
  return accept_ranks(place, std::move(listener), deadline);
}

UniqueFd connect_to_peer(const Mesh& mesh, Rank peer, const Endpoint& endpoint,
                         const std::optional<Endpoint>& source, Deadline deadline) {
  const std::string doing = "rank " + std::to_string(mesh.me.rank.value) + ": rank " +
                            std::to_string(peer.value) + " at " + to_string(endpoint);
  const Deadline last_try = within(deadline, std::min(kReachTimeout, deadline.left() * 3 / 4));
  PeerConnection connection = connect_when_reachable(endpoint, source, last_try);
  if (connection.error != 0)
    throw Error(connection.error == ETIMEDOUT ? ErrorKind::timeout : ErrorKind::remote,
                doing + " cannot be reached from " +
                    address_text(source ? *source : mesh.listens_at) + ": " +
                    std::generic_category().message(connection.error) +
                    "; a firewall between them, perhaps");
  try {
    present(connection.socket.get(), mesh.me, mesh.listens_at, deadline);
  } catch (const Error& e) {
    throw as_lost(e).during(doing);
  }
  return std::move(connection.socket);
}

UniqueFd connect_to_peer(const JobPlace& place, const Mesh& mesh, Rank peer, Deadline deadline) {
  const Endpoint& endpoint = mesh.endpoints[index_of(peer)];
  return connect_to_peer(mesh, peer, endpoint, source_address(place, endpoint), deadline);
}

}  // namespace fastgpu::comm
