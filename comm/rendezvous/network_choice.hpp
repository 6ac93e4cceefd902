// The choice between a fabric alone, and a fabric together with TCP, by what a probe has measured.
#pragma once

#include <functional>

#include "comm/common/deadline.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/mesh.hpp"

namespace fastgpu::comm {

/// Makes the wanted connections beyond the first to each rank, and returns them.
using FurtherConnector = std::function<SocketsByRank(const FurtherSockets& wanted)>;

/// Measures both ways between some ranks, and lets the fabric and TCP carry messages together if
/// they carry more so: changes `connections` and the numbers of `sockets` then. Rank 0 adds a
/// sentence to the report on networks. All ranks, which have introduced themselves, call it at
/// once. A probe that fails leaves the fabric alone. Throws as `connect` and exchange_results() do.
void choose_networks(Connections& connections, const Wishes& wishes, FurtherSockets& sockets,
                     const FurtherConnector& connect, Deadline deadline);

}  // namespace fastgpu::comm
