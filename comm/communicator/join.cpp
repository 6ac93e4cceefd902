#include "comm/communicator/join.hpp"

#include <sys/resource.h>

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/communicator/mpi_collectives.hpp"
#include "comm/mpi/messages.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/farewells.hpp"
#include "comm/rendezvous/further_networks.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/invitation.hpp"
#include "comm/rendezvous/meeting_points.hpp"
#include "comm/rendezvous/mesh.hpp"
#include "comm/rendezvous/network_choice.hpp"

namespace fastgpu::comm {
namespace {

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

/// Returns what is known of the connections before the ranks meet.
Connections connections_of(const JobPlace& place) {
  Connections connections{.rank = place.rank, .size = place.size, .timeout = place.wait_timeout};
  connections.silence = place.silence;
  connections.algorithm = place.algorithm;
  connections.sockets.resize(static_cast<std::size_t>(place.size));
  return connections;
}

/// Joins the world of MPI for the parts of it that `place` requires. If the ranks meet by MPI, this
/// completes `place`, and returns rank 0's listening socket.
UniqueFd join_mpi(JobPlace& place, Connections& connections, Deadline deadline) {
  const mpi::Member me{place.rank, place.size, place.mpi_plugin};
  const auto world = std::make_shared<const mpi::MpiWorld>(me, deadline);
  UniqueFd listener;
  if (place.meeting == Meeting::by_mpi) listener = invite_by_mpi(place, *world, deadline);
  if (place.transport == NetworkTransport::mpi) connections.messages = mpi::messages_of(world);
  if (place.collectives == CollectiveLibrary::mpi)
    connections.collectives = std::make_shared<mpi::MpiCollectives>(world);
  return listener;
}

/// Returns what this rank wishes of its connections to the others, now that it has one to each.
Wishes wishes_of(const JobPlace& place, const Connections& connections,
                 const std::vector<FurtherNetwork>& networks) {
  const bool is_by_mpi = place.transport == NetworkTransport::mpi;
  Wishes wishes{.shared_memory = place.shared_memory,
                .flows = is_by_mpi ? std::optional(1) : place.flows,
                .transport = place.transport,
                .algorithm = place.algorithm,
                .collectives = place.collectives,
                .fabric = place.fabric,
                .near = near_address(connections)};
  for (const FurtherNetwork& network : networks)
    wishes.further.push_back(network.listens_at);
  wishes.may_measure = place.transport == NetworkTransport::automatic &&
                       !place.fabric.is_required && place.fabric.further_devices.empty();
  return wishes;
}

/// Adds connections behind those that there are to the same ranks.
void add_behind(SocketsByRank& sockets, SocketsByRank&& further) {
  for (std::size_t rank = 0; rank < further.size(); ++rank)
    std::move(further[rank].begin(), further[rank].end(), std::back_inserter(sockets[rank]));
}

}  // namespace

Connections join(const JobPlace& wanted) {
  raise_limits(wanted);
  const Deadline deadline(wanted.timeout);
  JobPlace place = wanted;
  Connections connections = connections_of(place);
  if (place.size == 1) return connections;
  check_further_interfaces(place);
  UniqueFd listener;
  if (needs_mpi(place)) listener = join_mpi(place, connections, deadline);
  Mesh mesh = meet_ranks(place, std::move(listener), deadline);
  connections.sockets = std::move(mesh.sockets);
  auto networks = or_take_leave(connections, deadline,
                                [&] { return listen_on_further(place, mesh, deadline); });
  connections.networks = static_cast<int>(networks.size()) + 1;
  const Wishes wishes = wishes_of(place, connections, networks);
  FurtherSockets sockets = introduce(connections, wishes, deadline);
  const Farewells farewells(place.rank, connections.sockets);
  const auto connect = [&](const FurtherSockets& each) {
    return farewells.around([&] {
      return connect_further(place, mesh, networks, each, deadline, [&] { farewells.check(); });
    });
  };
  if (place.transport == NetworkTransport::automatic)
    choose_networks(connections, wishes, sockets, connect, deadline);
  SocketsByRank further = connect(sockets);
  await_all(connections, deadline);
  add_behind(connections.sockets, std::move(further));
  if (!networks.empty() || (connections.is_hybrid && has_secret(place)))
    connections.reconnector = reconnector_of(std::move(mesh), std::move(networks), sockets);
  return connections;
}

}  // namespace fastgpu::comm
