// A transport that carries frames for another one, which spreads messages over it and TCP.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

class CarrierClient;

/// A message of a client that is under way.
struct CarriedOutgoing : Outgoing {
  CarrierClient* client = nullptr;
};
struct CarriedIncoming : Incoming {
  CarrierClient* client = nullptr;
};

/// A flow whose messages the carrier's transport sends and receives.
class CarrierClient {
 public:
  CarrierClient() = default;
  CarrierClient(const CarrierClient&) = delete;
  CarrierClient& operator=(const CarrierClient&) = delete;
  virtual ~CarrierClient() = default;

  virtual void sent(CarriedOutgoing& message) = 0;
  virtual void received(CarriedIncoming& message) = 0;
  virtual void lost(const Error& error) = 0;
  /// Goes on with what has come.
  virtual void advance() noexcept = 0;
};

/// The listener of that transport, and its owner. One thread at a time.
class FlowCarrier final : public TransportEvents {
 public:
  /// Borrows `reports`, which get warnings and descriptors.
  explicit FlowCarrier(TransportEvents& reports) : reports_(reports) {}
  ~FlowCarrier() override = default;
  FlowCarrier(const FlowCarrier&) = delete;
  FlowCarrier& operator=(const FlowCarrier&) = delete;

  /// Takes a transport that is open, and whose listener this is.
  void use(std::unique_ptr<Transport> transport);

  Transport& transport() const noexcept { return *transport_; }

  /// Ends the transport, which waits until what was sent has left, but not for long. Only flows may
  /// call this object afterwards.
  void end() noexcept { transport_.reset(); }

  /// Returns the name of the transport's network.
  std::string name() const { return transport_->links().front().name; }

  bool has_flows() const noexcept { return flow_count_ > 0; }
  bool has_ended() const noexcept { return has_ended_; }  ///< The last flow is gone.

  /// Moves what can be moved. Then flows may have something to read, or room to write.
  bool progress();
  /// Returns the ranks whose flows have, once.
  std::vector<Rank> take_ready();
  bool needs_progress() const noexcept { return !ready_.empty() || transport_->needs_progress(); }

  // ---- for flows ----
  void add(CarrierClient& flow, Rank peer);
  /// Removes the flow to `peer`. Memory of its messages is touched no more. With the last flow the
  /// transport is abandoned.
  void forget(Rank peer) noexcept;
  /// Notes that the flow to `peer` has something to read, or room to write.
  void mark(Rank peer);
  /// Returns memory for a frame's bytes, which the transport may use. Throws ErrorKind::capacity.
  std::span<std::byte> take_block();
  void give_block(std::span<std::byte> block) { spare_.push_back(block); }

  // ---- TransportEvents ----
  void sent(Outgoing& message) override;
  void received(Incoming& message) override;
  void noted(Rank /*from*/, MessageTag /*tag*/, const Note& /*note*/) override {}
  void lost(Rank peer, const Error& error) override;
  void warned(const std::string& sentence) override { reports_.warned(sentence); }
  void opened(int descriptor) override { reports_.opened(descriptor); }
  void closing(int descriptor) override { reports_.closing(descriptor); }

 private:
  TransportEvents& reports_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;  ///< Outlive the transport, which uses them.
  std::vector<std::span<std::byte>> spare_;
  std::unique_ptr<Transport> transport_;
  std::vector<CarrierClient*> flows_;  ///< The flows, by rank; null for others.
  std::size_t flow_count_ = 0;
  bool has_ended_ = false;
  std::vector<bool> is_ready_;  ///< True, by rank, for one in `ready_`.
  std::vector<Rank> ready_;
};

}  // namespace fastgpu::comm
