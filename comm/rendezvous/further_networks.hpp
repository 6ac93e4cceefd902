// The networks that a rank uses beside the first, and the connections beyond the first to each
// rank, which these networks and the first share.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/mesh.hpp"
#include "comm/rendezvous/rank_environment.hpp"
#include "comm/transports/reconnector.hpp"

namespace fastgpu::comm {

/// A network beside the first, on which this rank listens for further connections.
struct FurtherNetwork {
  UniqueFd listener;
  Endpoint listens_at;
};

/// Throws ErrorKind::usage if an interface beside the first is missing, or may not be listened on.
void check_further_interfaces(const JobPlace& place);

/// Listens on the interfaces of FASTGPU_COMM_INTERFACE beside the first. Waits for those that are
/// down. Throws ErrorKind::usage for one that is down at the deadline, or leads to no other
/// machine.
std::vector<FurtherNetwork> listen_on_further(const JobPlace& place, const Mesh& mesh,
                                              Deadline deadline);

/// Makes the connections to each rank beyond the first, in the same order on all ranks that have
/// some; each of them calls it with the same numbers. The networks take turns. Returns the new
/// connections. Throws as connect_to_peer() and PeerAcceptor::accept_all() do, and as `check`,
/// which it calls several times in a second while it waits for others.
SocketsByRank connect_further(const JobPlace& place, const Mesh& mesh,
                              const std::vector<FurtherNetwork>& networks,
                              const FurtherSockets& wanted, Deadline deadline,
                              const std::function<void()>& check);

/// Returns the object that replaces the connections of a network that comes back. Keeps the
/// listeners.
std::unique_ptr<Reconnector> reconnector_of(Mesh&& mesh, std::vector<FurtherNetwork>&& networks,
                                            const FurtherSockets& wanted);

}  // namespace fastgpu::comm
