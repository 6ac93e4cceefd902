// The transports of a job: which there are, and which of them is preferred.
#pragma once

#include <memory>
#include <vector>

#include "comm/rendezvous/connections.hpp"
#include "comm/transports/control_channel.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct Transports {
  /// Ordered by preference: the first that reaches a rank carries its messages.
  std::vector<std::unique_ptr<Transport>> all;
  ControlChannel* control = nullptr;  ///< One of `all`; reaches every rank.
};

/// Makes the transports from what the ranks have agreed on, which is moved out of `connections`.
/// Borrows the listeners.
Transports make_transports(Connections& connections, TransportEvents& events,
                           ControlEvents& control_events);

}  // namespace fastgpu::comm
