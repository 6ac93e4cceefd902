#include "comm/communicator/join.hpp"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/communicator/mpi_collectives.hpp"
#include "comm/mpi/messages.hpp"
#include "comm/rendezvous/doorkeeper.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/invitation.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// For one attempt to reach an address, which may be one of several.
constexpr auto kAttempt = 10s;

std::size_t index(Rank rank) {
  return static_cast<std::size_t>(rank.value);
}

Identity identity_of(const JobPlace& place, const Session& session) {
  return {place.rank, place.size, place.secret, session};
}

bool has_secret(const JobPlace& place) {
  return !place.secret.reveal().empty();
}

std::string master_name(const JobPlace& place) {
  if (place.meeting == Meeting::by_mpi) return "rank 0, which MPI has told of";
  return "rank 0 at " + printable(place.master_host) + ":" + std::to_string(place.master_port);
}

/// The addresses at which rank 0 may be met.
std::vector<Endpoint> meeting_points(const JobPlace& place) {
  if (!place.points.empty()) return place.points;
  std::vector<Endpoint> points = resolve(place.master_host, place.master_port);
  if (has_secret(place)) return points;
  std::erase_if(points, [](const Endpoint& point) { return !point.is_loopback(); });
  if (points.empty())
    throw Error(ErrorKind::usage, "rank " + std::to_string(place.rank.value) +
                                      ": FASTGPU_COMM_SECRET is not set, and '" +
                                      printable(place.master_host) +
                                      "' is no loopback address: give all ranks the same secret");
  return points;
}

/// Where to listen on the way that leads through `nearby`, an address of this machine or its
/// loopback interface.
Endpoint listening_address(const JobPlace& place, const Endpoint& nearby, std::uint16_t port) {
  Endpoint address = nearby;
  if (!place.interface.empty())
    address = address_of_interface(place.interface, nearby.family);
  else if (has_secret(place))
    address = any_address(nearby.family);
  address.port = port;
  return address;
}

/// This rank's connections, and what is needed to make more of them.
struct Mesh {
  Mesh(const JobPlace& place, UniqueFd own_door)
      : sockets(static_cast<std::size_t>(place.size)),
        endpoints(static_cast<std::size_t>(place.size)),
        door(std::move(own_door)) {}

  void take(Guests&& guests) {
    for (auto& [rank, guest] : guests)
      sockets[index(rank)].push_back(std::move(guest.socket));
  }

  std::vector<std::vector<UniqueFd>> sockets;  ///< By rank.
  std::vector<Endpoint> endpoints;             ///< Where the ranks below this one listen.
  UniqueFd door;
  Endpoint listens_at{};
  Session session{};
};

// ---- rank 0 ----

/// Returns this machine's addresses that other machines may reach; empty if it has loopback alone.
std::vector<Endpoint> own_addresses() {
  try {
    return addresses_of_machine("");
  } catch (const Error&) {
    return {};
  }
}

/// Throws usage if the other ranks would connect to an address of this machine at which rank 0 does
/// not listen. An address of another machine may lead here, and a name of loopback here may be
/// another address elsewhere.
void check_interface(const JobPlace& place, const std::vector<Endpoint>& points,
                     const Endpoint& listens_at) {
  if (place.interface.empty()) return;
  const std::vector<Endpoint> of_machine = own_addresses();
  const auto is_at = [](const std::vector<Endpoint>& all, const Endpoint& one) {
    return std::ranges::any_of(all, [&](const Endpoint& each) {
      return each.family == one.family && each.address == one.address;
    });
  };
  const auto leads_elsewhere = [&](const Endpoint& point) {
    return !point.is_loopback() && is_at(of_machine, point);
  };
  if (is_at(points, listens_at) || !std::ranges::all_of(points, leads_elsewhere)) return;
  throw Error(ErrorKind::usage, "rank 0: FASTGPU_COMM_INTERFACE is '" + printable(place.interface) +
                                    "', so it listens at " + to_string(listens_at) +
                                    ", but the ranks meet at '" + printable(place.master_host) +
                                    "', which is " + to_string(points.front()) +
                                    ": give the address of the interface to all ranks");
}

UniqueFd open_door(const JobPlace& place) {
  const std::vector<Endpoint> points = meeting_points(place);
  const Endpoint door = listening_address(place, points.front(), place.master_port);
  check_interface(place, points, door);
  return listen_at(door);
}

/// Where `guest` reaches `other`. One that came to rank 0 over loopback is on rank 0's machine, and
/// from outside has the address at which the guest met rank 0.
Endpoint seen_by(const Guest& guest, const Guest& other) {
  Endpoint endpoint = other.listens_at;
  if (!endpoint.is_loopback() || guest.listens_at.is_loopback()) return endpoint;
  const Endpoint here = local_end(guest.socket.get());
  return {here.family, here.address, endpoint.port};
}

void tell_everyone(const Guests& guests, Deadline deadline) {
  for (const auto& [rank, guest] : guests) {
    std::vector<std::byte> table;
    for (const auto& [other_rank, other] : guests) {
      const auto entry = encode(seen_by(guest, other));
      table.insert(table.end(), entry.begin(), entry.end());
    }
    try {
      send_all(guest.socket.get(), table, deadline);
    } catch (const Error& e) {
      throw e.during("rank " + std::to_string(rank.value));
    }
  }
}

Mesh host(const JobPlace& place, UniqueFd door, Deadline deadline) {
  Mesh mesh(place, std::move(door));
  const Identity me = identity_of(place, {});
  const Session session = random_nonce();
  auto guests = Doorkeeper(mesh.door.get(), me, session).admit_all(deadline);
  tell_everyone(guests, deadline);
  mesh.take(std::move(guests));
  mesh.session = session;
  return mesh;
}

// ---- the others ----

std::optional<Endpoint> source_address(const JobPlace& place, Family family) {
  if (place.interface.empty()) return std::nullopt;
  return address_of_interface(place.interface, family);
}

/// A rank's connection to rank 0, and where it listens itself.
struct Visit {
  UniqueFd master;
  UniqueFd door;
  Endpoint listens_at;
  Session session{};
};

Visit introduce(const JobPlace& place, UniqueFd master, Deadline deadline) {
  Endpoint here = local_end(master.get());
  UniqueFd door = listen_at(listening_address(place, here, 0));
  here.port = local_end(door.get()).port;
  const Session session = present(master.get(), identity_of(place, {}), here, deadline);
  return {std::move(master), std::move(door), here, session};
}

/// One attempt at one address; what went wrong is in `obstacle` where trying again may help.
std::optional<Visit> try_to_visit(const JobPlace& place, const Endpoint& point, Deadline deadline,
                                  std::string& obstacle) {
  const Deadline attempt = within(deadline, kAttempt);
  Connection connection = connect_to(point, source_address(place, point.family), attempt);
  if (connection.error != 0) {
    obstacle = to_string(point) + ": " + std::generic_category().message(connection.error);
    return std::nullopt;
  }
  try {
    return introduce(place, std::move(connection.socket), attempt);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::transient && e.kind() != ErrorKind::timeout)
      throw e.during("rank " + std::to_string(place.rank.value) + ": " + master_name(place));
    obstacle = to_string(point) + ": " + e.what();
    return std::nullopt;
  }
}

void pause(std::chrono::milliseconds duration, Deadline deadline) {
  poll_until({}, within(deadline, duration));
}

/// Keeps trying until rank 0 is there: ranks start in any order.
Visit visit_master(const JobPlace& place, Deadline deadline) {
  std::string obstacle;
  auto wait = 10ms;
  while (!deadline.passed()) {
    for (const Endpoint& point : meeting_points(place))
      if (auto visit = try_to_visit(place, point, deadline, obstacle)) return std::move(*visit);
    pause(wait, deadline);
    wait = std::min(wait * 2, std::chrono::milliseconds(500));
  }
  throw Error(ErrorKind::timeout, "rank " + std::to_string(place.rank.value) + ": " +
                                      master_name(place) + " did not let it in within " +
                                      fastgpu::to_string(place.timeout) + " (last: " + obstacle +
                                      ")");
}

/// Element r-1 is where rank r listens.
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
  throw e.during("rank " + std::to_string(place.rank.value) + " heard from " + master_name(place) +
                 " but not where the others are");
}

UniqueFd visit_peer(const JobPlace& place, const Mesh& mesh, Rank peer, Deadline deadline) {
  const Endpoint& endpoint = mesh.endpoints[index(peer)];
  const std::string doing = "rank " + std::to_string(place.rank.value) + ": rank " +
                            std::to_string(peer.value) + " at " + to_string(endpoint);
  Connection connection = connect_to(endpoint, source_address(place, endpoint.family), deadline);
  if (connection.error != 0)
    throw Error(ErrorKind::transient,
                doing + ": " + std::generic_category().message(connection.error));
  try {
    present(connection.socket.get(), identity_of(place, mesh.session), mesh.listens_at, deadline);
  } catch (const Error& e) {
    throw e.during(doing);
  }
  return std::move(connection.socket);
}

/// Each rank visits those below it and receives those above it.
Mesh visit(const JobPlace& place, Deadline deadline) {
  Visit visit = visit_master(place, deadline);
  const auto endpoints = receive_table(place, visit.master.get(), deadline);
  Mesh mesh(place, std::move(visit.door));
  mesh.listens_at = visit.listens_at;
  mesh.session = visit.session;
  mesh.endpoints[0] = remote_end(visit.master.get());
  std::ranges::copy(endpoints, mesh.endpoints.begin() + 1);
  mesh.sockets[0].push_back(std::move(visit.master));
  for (Rank peer{1}; peer < place.rank; ++peer.value)
    mesh.sockets[index(peer)].push_back(visit_peer(place, mesh, peer, deadline));
  const Identity me = identity_of(place, mesh.session);
  mesh.take(Doorkeeper(mesh.door.get(), me, mesh.session).admit_all(deadline));
  return mesh;
}

// ---- all ----

/// Connections beyond the first, in the same order of visits.
void connect_further(const JobPlace& place, Mesh& mesh, const std::vector<int>& flows,
                     Deadline deadline) {
  std::map<Rank, int> awaited;
  for (Rank peer{0}; peer.value < place.size; ++peer.value) {
    const int further = peer == place.rank ? 0 : flows[index(peer)] - 1;
    if (peer > place.rank && further > 0) awaited.emplace(peer, further);
    for (int i = 0; peer < place.rank && i < further; ++i)
      mesh.sockets[index(peer)].push_back(visit_peer(place, mesh, peer, deadline));
  }
  const Identity me = identity_of(place, mesh.session);
  mesh.take(Doorkeeper(mesh.door.get(), me, std::move(awaited)).admit_all(deadline));
}

/// A rank has a connection to each other one, and shells allow 1024 descriptors where more cost
/// nothing.
void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

bool needs_mpi(const JobPlace& place) {
  return place.meeting == Meeting::by_mpi || place.transport == Transport::mpi ||
         place.collectives == Collectives::mpi;
}

}  // namespace

Connections join(const JobPlace& wanted) {
  raise_descriptor_limit();
  const Deadline deadline(wanted.timeout);
  JobPlace place = wanted;
  Connections connections{.rank = place.rank, .size = place.size, .timeout = place.wait_timeout};
  connections.silence = place.silence;
  connections.algorithm = place.algorithm;
  connections.sockets.resize(static_cast<std::size_t>(place.size));
  if (place.size == 1) return connections;
  UniqueFd door;
  if (needs_mpi(place)) {
    const mpi::Member me{place.rank, place.size, place.mpi_plugin};
    const auto world = std::make_shared<const mpi::World>(me, deadline);
    if (place.meeting == Meeting::by_mpi) door = invite_by_mpi(place, *world, deadline);
    if (place.transport == Transport::mpi) connections.messages = mpi::messages_of(world);
    if (place.collectives == Collectives::mpi)
      connections.collectives = std::make_shared<mpi::Collectives>(world);
  }
  if (place.rank == Rank{0} && !door) door = open_door(place);
  Mesh mesh =
      place.rank == Rank{0} ? host(place, std::move(door), deadline) : visit(place, deadline);
  connections.sockets = std::move(mesh.sockets);
  const auto most_flows = place.transport == Transport::tcp ? place.flows : std::optional(1);
  const auto flows =
      introduce(connections, {place.shared_memory, most_flows, place.transport}, deadline);
  mesh.sockets = std::move(connections.sockets);
  connect_further(place, mesh, flows, deadline);
  connections.sockets = std::move(mesh.sockets);
  return connections;
}

}  // namespace fastgpu::comm
