// The transports of a job, and which of them carries the messages to each rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/engine/private_heap.hpp"
#include "comm/transports/control_channel.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct Transports;

/// A transport, and its messages that have begun and have not ended.
struct EngineRoute {
  std::unique_ptr<Transport> transport;
  TransportCapabilities capabilities{};
  std::size_t under_way = 0;
};

/// All transports of this rank. One thread at a time.
class Routes {
 public:
  Routes(Transports transports, int size);

  EngineRoute& to(Rank peer) const { return *to_[static_cast<std::size_t>(peer.value)]; }
  std::span<EngineRoute> all() noexcept { return routes_; }
  ControlChannel& control() const noexcept { return *control_; }

  /// Begins a round of looks at the transports. `is_due` returns whether it is worth it to look at
  /// one in this round.
  void next_turn() noexcept { ++turns_; }
  bool is_due(const EngineRoute& route) const {
    return turns_ % kTurnsBetweenLooks == 0 || route.capabilities.is_free_to_poll ||
           route.under_way > 0 ||
           (route.capabilities.moves_only_when_called && route.transport->needs_progress());
  }

  /// Prepares all for sleep, and returns whether it is safe.
  bool may_sleep();
  void woke();
  /// Returns whether a thread must not sleep, because nothing would wake it.
  bool must_stay_awake() const;

  bool needs_progress() const;
  bool move_only_when_called() const;
  bool are_quiet() const;
  void abandon() noexcept;

  /// Returns the largest number of connections that a message may be spread over.
  int most_flows() const noexcept;
  void use_flows(int flows);

  /// Returns memory from which a transport may read directly. Throws ErrorKind::capacity.
  std::span<std::byte> allocate(std::size_t bytes);
  void free(const std::byte* memory);

  /// Returns a sentence on the way of memory of GPUs; empty if no network has one.
  std::string report_of_device_memory() const;

  /// Returns the counts of all networks.
  std::vector<LinkCounters> links() const;

  /// Returns the descriptors that a child made by fork must not keep open.
  std::vector<int> descriptors() const;
  /// Returns the descriptors that become readable when something comes.
  std::vector<int> poll_descriptors() const;

 private:
  /// The turns between two looks at a transport without messages under way whose look costs a
  /// system call.
  static constexpr unsigned kTurnsBetweenLooks = 256;

  std::vector<EngineRoute> routes_;  ///< Best first; their number does not change.
  std::vector<EngineRoute*> to_;     ///< The route to each rank.
  ControlChannel* control_;          ///< One of `routes_`.
  PrivateHeap private_heap_;
  Heap* heap_ = &private_heap_;
  unsigned turns_ = 0;
};

}  // namespace fastgpu::comm
