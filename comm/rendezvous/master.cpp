#include "comm/rendezvous/master.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/rendezvous/meeting_points.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The timeout of one attempt to reach an address, which may be one of several.
constexpr auto kConnectTimeout = 10s;

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

MasterConnection present_at(const JobPlace& place, UniqueFd master, Deadline deadline) {
  Endpoint here = local_end(master.get());
  UniqueFd listener = listen_at(listening_address(place, here, 0));
  here.port = local_end(listener.get()).port;
  const Session session = present(master.get(), identity_of(place), here, deadline);
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

}  // namespace

std::string master_name(const JobPlace& place) {
  if (place.meeting == Meeting::by_mpi) return "rank 0 (its address came by MPI)";
  return "rank 0 at " + host_and_port(printable(place.master_host), place.master_port);
}

PeerIdentity identity_of(const JobPlace& place) {
  return {.rank = place.rank, .size = place.size, .secret = place.secret};
}

UniqueFd listen_as_master(const JobPlace& place, Deadline deadline) {
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

MasterConnection connect_to_master(const JobPlace& place, Deadline deadline) {
  std::string obstacle;
  auto wait = 10ms;
  while (!deadline.passed()) {
    for (const Endpoint& point : points_of_master(place, deadline))
      if (auto master = try_to_connect(place, point, deadline, obstacle)) return std::move(*master);
    poll_until({}, within(deadline, wait));
    wait = std::min(wait * 2, std::chrono::milliseconds(500));
  }
  throw Error(ErrorKind::timeout, "rank " + std::to_string(place.rank.value) + ": " +
                                      master_name(place) + " did not let it in within " +
                                      fastgpu::to_string(place.timeout) + " (last: " + obstacle +
                                      ")");
}

}  // namespace fastgpu::comm
