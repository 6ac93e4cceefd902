#include "comm/rendezvous/make_transports.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "comm/transports/fabric_transport.hpp"
#include "comm/transports/flow_carrier.hpp"
#include "comm/transports/mpi_transport.hpp"
#include "comm/transports/shared_memory_transport.hpp"
#include "comm/transports/tcp_transport.hpp"

namespace fastgpu::comm {
namespace {

/// The parts that a transport is made from.
struct Parts {
  Connections& connections;
  TransportEvents& events;
  TcpTransport& sockets;  ///< Connected to every rank.
};

/// Watches the processes of this host's ranks. Without pidfds in the kernel their connections alone
/// show that they have ended.
void watch_processes(const SharedMemoryTransport& shared, const Parts& parts) {
  for (int r = 0; r < parts.connections.size; ++r) {
    const pid_t process = shared.process_of({r});
    if (process == 0 || process == ::getpid()) continue;
    UniqueFd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (watched) parts.sockets.watch_process({r}, std::move(watched));
  }
}

std::unique_ptr<Transport> by_shared_memory(const Parts& parts) {
  std::unique_ptr<SharedMemoryTransport> shared = std::move(parts.connections.shared);
  if (!shared) return nullptr;
  watch_processes(*shared, parts);
  shared->open(parts.events, parts.sockets);
  return shared;
}

/// Returns null, too, if the fabric carries messages together with sockets.
std::unique_ptr<Transport> by_fabric(const Parts& parts) {
  if (parts.connections.is_hybrid) return nullptr;
  std::unique_ptr<FabricTransport> fabric = std::move(parts.connections.fabric);
  if (!fabric) return nullptr;
  fabric->limit_waits(parts.connections.timeout);
  fabric->open(parts.events);
  return fabric;
}

void carry_by(const Parts& parts, FurtherFabric given) {
  auto carrier = std::make_unique<FlowCarrier>(parts.events);
  given.fabric->open(*carrier);
  carrier->use(std::move(given.fabric));
  parts.sockets.carry_by(given.number, std::move(carrier), std::move(given.source));
}

void carry_by_fabrics(const Parts& parts) {
  Connections& given = parts.connections;
  if (given.fabric) carry_by(parts, {0, std::move(given.fabric), std::move(given.fabric_source)});
  for (FurtherFabric& further : given.further_fabrics)
    carry_by(parts, std::move(further));
  if (given.are_sockets_spared) parts.sockets.spare_connections();
}

std::unique_ptr<Transport> by_mpi(const Parts& parts) {
  if (!parts.connections.messages) return nullptr;
  return std::make_unique<MpiTransport>(std::move(parts.connections.messages),
                                        parts.connections.size, parts.events);
}

/// The transports that are preferred to sockets, the best first; each returns null if the job does
/// not use it.
constexpr std::array kPreferred{by_shared_memory, by_fabric, by_mpi};

}  // namespace

Transports make_transports(Connections& connections, TransportEvents& events,
                           ControlEvents& control_events) {
  const bool is_carried =
      connections.is_hybrid && (connections.fabric || !connections.further_fabrics.empty());
  const auto confirmation = connections.networks > 1 || connections.is_hybrid
                                ? Confirmation::of_frames
                                : Confirmation::none;
  auto sockets = std::make_unique<TcpTransport>(std::move(connections.sockets), events,
                                                control_events, confirmation);
  if (connections.reconnector) sockets->use(std::move(connections.reconnector));
  if (is_carried) carry_by_fabrics({connections, events, *sockets});
  Transports made{.all = {}, .control = sockets.get()};
  for (const auto make : kPreferred)
    if (auto transport = make({connections, events, *sockets}))
      made.all.push_back(std::move(transport));
  made.all.push_back(std::move(sockets));
  return made;
}

}  // namespace fastgpu::comm
