// What one rank holds once it has met the others: sockets to each, and memory shared with those on
// its host.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/fabric/fabric_settings.hpp"
#include "comm/mpi/messages.hpp"
#include "comm/rendezvous/address.hpp"
#include "comm/rendezvous/rank_environment.hpp"
#include "comm/schedule/topology.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "comm/transports/meeting_transport.hpp"
#include "comm/transports/reconnector.hpp"
#include "comm/transports/shared_memory_transport.hpp"

namespace fastgpu::comm {

namespace mpi {
class MpiCollectives;
}

/// A fabric beside the first, and what opens it again.
struct FurtherFabric {
  std::uint64_t number = 1;                   ///< A value that all ranks have.
  std::unique_ptr<FabricTransport> fabric{};  ///< Never null.
  std::unique_ptr<TransportSource> source{};
};

struct Connections {
  Rank rank{0};
  int size = 1;
  std::chrono::milliseconds timeout{60'000};  ///< A wait in which nothing moves ends the job then.
  std::chrono::milliseconds silence{
      60'000};  ///< The time after which a silent rank is reported to `warn`.
  std::function<void(const std::string&)> warn{};  ///< Null: reports are dropped. Any thread.
  /// Called with the rank that the program may fail for; the last one counts, and is this rank
  /// where none of the others is to blame any more. Does not throw. Null: not called.
  std::function<void(Rank)> blame{};
  std::vector<std::vector<UniqueFd>>
      sockets{};     ///< The connections, by rank: at least one to each other rank.
  int networks = 1;  ///< If there are several, a connection that fails is given up.
  std::unique_ptr<Reconnector> reconnector{};       ///< Null: such a connection is not replaced.
  std::unique_ptr<SharedMemoryTransport> shared{};  ///< Null: no memory is shared.
  Topology topology{{{Rank{0}}}};                   ///< Nodes are ranks that share memory.
  std::unique_ptr<FabricTransport> fabric{};        ///< Null: no rank is reached by a fabric.
  /// True if fabrics carry messages together with sockets, instead of in their place; the same on
  /// all ranks.
  bool is_hybrid = false;
  /// A source of new endpoints for a fabric that failed beside sockets; null: it stays unused.
  std::unique_ptr<TransportSource> fabric_source{};
  /// Fabrics by further devices, which carry messages together with the first.
  std::vector<FurtherFabric> further_fabrics{};
  /// True if sockets carry messages only where no fabric beside them does.
  bool are_sockets_spared = false;
  /// A sentence on the choice of networks: why an RDMA device of this machine is not used, or what
  /// a probe has measured; often empty.
  std::string network_report{};
  std::unique_ptr<mpi::MpiMessages> messages{};  ///< Null: those to other hosts go by sockets.
  std::shared_ptr<mpi::MpiCollectives>
      collectives{};  ///< Null: none but ours. Shared by the calls.
  std::optional<Algorithm>
      algorithm{};  ///< The algorithm of all-reduces, if the user has named one.
};

/// Returns the number of ranks that want the cores of this machine: those that share memory with
/// this rank, and those to which a connection does not leave the machine.
int ranks_of_machine(const Connections& connections);

/// The connections that this rank wishes; it gets those that the other side wishes too.
struct Wishes {
  SharedMemory shared_memory = SharedMemory::on;
  std::optional<int> flows{};  ///< Connections to each rank; absent: what suits ranks and hosts.
  NetworkTransport transport = NetworkTransport::tcp;       ///< The other side's must be the same.
  std::optional<Algorithm> algorithm{};                     ///< Must be the same, too.
  CollectiveLibrary collectives = CollectiveLibrary::ours;  ///< Must be the same, too.
  fabric::FabricSettings fabric{};
  std::string near{};        ///< This machine's address on the way to the others; empty: unknown.
  bool may_measure = false;  ///< Whether networks may be measured to choose among them.
  /// The addresses at which this rank listens on further networks.
  std::vector<Endpoint> further{};
};

}  // namespace fastgpu::comm
