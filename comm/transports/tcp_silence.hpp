// Connections and flows whose network carries nothing any more, though the peer is there.
#pragma once

#include <cstddef>

#include "comm/transports/carried_network.hpp"
#include "comm/transports/tcp_peer.hpp"

namespace fastgpu::comm {

/// Counts the looks at which each flow to a peer was silent; called at equal intervals, where
/// frames are confirmed. Returns true if another flow was not, so that one of long silence can be
/// given up. The silence of a flow by another network counts only if the peer answers by a
/// connection: else it may be busy. Questions for an answer are sent by `hub`.
bool look_for_silence(TcpPeer& peer, CarrierHub& hub);

/// Returns true if a flow has been silent for so long that it is to be given up, and can be.
bool is_silent_for_long(const TcpPeer& peer, std::size_t flow);

}  // namespace fastgpu::comm
