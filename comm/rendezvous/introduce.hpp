// Ranks introduce themselves to each other by the first socket between them, and agree on the ways
// by which messages go.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/rendezvous/connections.hpp"

namespace fastgpu::comm {

/// The number of connections between two hosts if no rank wishes another: enough for a network that
/// limits each of them, and no more however many ranks share them.
constexpr int kUsualFlows = 4;

/// Connections that two ranks of different nodes have by default. Each of a node's ranks speaks to
/// one of the other's, so they share kUsualFlows.
int usual_flows(const Topology& topology, Rank one, Rank other);

/// The sockets that there are to be to each rank.
struct FurtherSockets {
  std::vector<int>
      flows{};  ///< The numbers by rank, with the first; 1 where another transport carries data.
  /// By rank: its addresses on further networks, in the order of this rank's.
  std::vector<std::vector<Endpoint>> addresses{};
  std::vector<int> wished{};  ///< The numbers by rank that other ranks wish; 0: the usual one.
  std::vector<bool> may_measure{};  ///< True, by rank, for one that would measure networks.
};

/// Finds out, over the first socket to each rank, which of them share memory with this one, and
/// which are reached by a fabric, and connects to these; fills in `topology`. All ranks call it at
/// once. Throws ErrorKind::usage where transports, algorithms, libraries of collectives, or the
/// numbers of networks or devices differ, ErrorKind::capacity if a fabric that is required does not
/// reach a rank, and as open_endpoint() does. If one rank alone cannot go on, the others throw
/// ErrorKind::remote with its reason.
FurtherSockets introduce(Connections& connections, const Wishes& wishes, Deadline deadline);

/// Returns once all ranks have called it: what one of them sends after it finds no rank that still
/// connects to others. Throws FarewellError if one cannot go on.
void await_all(const Connections& connections, Deadline deadline);

/// Called in place of introduce() by a rank that cannot go on: the others throw ErrorKind::remote
/// with the reason.
void take_leave(const Connections& connections, const Error& reason, Deadline deadline) noexcept;

/// Returns what `action` returns, before introduce(). An error reaches the other ranks as well.
template <class Action>
auto or_take_leave(const Connections& connections, Deadline deadline, Action action) {
  try {
    return action();
  } catch (const Error& e) {
    take_leave(connections, e, deadline);
    throw;
  }
}

/// Returns the settings by which a fabric of this rank can be opened once more.
fabric::FabricSettings settings_of_fabric(const FabricTransport& fabric, const Wishes& wishes);

/// Lets fabrics carry messages together with sockets, of which there are to be more then.
void become_hybrid(Connections& connections, const Wishes& wishes, FurtherSockets& sockets);

}  // namespace fastgpu::comm
