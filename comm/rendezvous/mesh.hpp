// The first connection between each two ranks of a job: a mesh over one network.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/rank.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/peer_acceptor.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {

/// The connections to each rank. Element r has those to rank r; that of the rank itself is empty.
using SocketsByRank = std::vector<std::vector<UniqueFd>>;

/// Returns the index of a rank in what is stored by rank.
constexpr std::size_t index_of(Rank rank) noexcept {
  return static_cast<std::size_t>(rank.value);
}

/// Adds connections that a PeerAcceptor has accepted.
void add(SocketsByRank& sockets, AcceptedPeers&& accepted);

/// This rank's connections on the first network, and what is needed to make more of them.
struct Mesh {
  SocketsByRank sockets;
  std::vector<Endpoint> endpoints;  ///< The addresses of the ranks below this one, by rank.
  UniqueFd listener;                ///< The ranks above this one connect to it.
  Endpoint listens_at{};            ///< Its address as others reach it; unknown on rank 0.
  PeerIdentity me;                  ///< This rank in the session that rank 0 has named.
};

/// Connects this rank to all others; they call it at the same time. Rank 0 waits for them at
/// `listener`, or at the address of the job if that is empty. Every other rank connects to the
/// ranks below it, whose addresses rank 0 sends, and accepts those above it. Throws
/// ErrorKind::timeout, naming the missing ranks; ErrorKind::timeout or ErrorKind::remote for a rank
/// that cannot be reached; FarewellError with the reason of another rank that cannot go on; and as
/// listen_as_master(), connect_to_master() and PeerAcceptor do.
Mesh meet_ranks(const JobPlace& place, UniqueFd listener, Deadline deadline);

/// Connects to a rank below this one at `endpoint`, from the address `source` if one is given.
/// Tries again for some seconds if the network is not there yet. Throws ErrorKind::timeout or
/// ErrorKind::remote, with both addresses, if that does not succeed, and as present() does.
UniqueFd connect_to_peer(const Mesh& mesh, Rank peer, const Endpoint& endpoint,
                         const std::optional<Endpoint>& source, Deadline deadline);

/// Does the same on the first network.
UniqueFd connect_to_peer(const JobPlace& place, const Mesh& mesh, Rank peer, Deadline deadline);

}  // namespace fastgpu::comm
