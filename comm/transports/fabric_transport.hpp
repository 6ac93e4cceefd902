// Messages by the fabric: a network that moves them, and writes into the memory of other ranks, by
// itself. Short ones go in frames. Of a long one the receiver grants piece after piece, and each is
// put where the receiver wants it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_device_memory.hpp"
#include "comm/transports/fabric_frame.hpp"
#include "comm/transports/fabric_frames.hpp"
#include "comm/transports/fabric_memory.hpp"
#include "comm/transports/fabric_peer.hpp"
#include "comm/transports/fabric_pieces.hpp"
#include "comm/transports/fabric_puts.hpp"
#include "comm/transports/fabric_shorts.hpp"
#include "comm/transports/meeting_transport.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

class FabricTransport final : public MeetingTransport, private FabricHub {
 public:
  /// Makes the transport of a rank among `size`. Pieces of the program's own memory up to
  /// `copy_limit` are copied instead of registered; absent: that is measured. Throws
  /// ErrorKind::capacity if too little memory may be locked.
  FabricTransport(Rank self, int size, std::unique_ptr<fabric::FabricEndpoint> endpoint,
                  std::optional<std::size_t> copy_limit = {});

  /// Waits until what was sent has left, but not for long.
  ~FabricTransport() override;

  const fabric::Traits& traits() const noexcept { return endpoint_->traits(); }

  /// Returns what another rank must know in order to connect.
  fabric::Card card() const;

  /// Connects to a peer with that card, and returns whether that was possible. Used only where both
  /// sides could.
  bool connect(Rank peer, const fabric::Card& card);
  void disconnect(
      Rank peer) noexcept;  ///< Undoes `connect`, where the peer could not or has not met.

  /// Exchanges a first frame with each connected peer, while these do the same. Returns for those
  /// with which it failed what went wrong; they are not reached.
  std::map<Rank, std::string> meet(Deadline deadline);

  void open(TransportEvents& events) override;

  /// Lets a fabric that is cut be noticed before a wait of that length ends.
  void limit_waits(std::chrono::milliseconds timeout) noexcept { shorts_.limit_waits(timeout); }

  std::vector<std::byte> own_card() const override { return encode(card()); }
  bool begin_to_meet(Rank peer, std::span<const std::byte> card) override;
  PeerMeeting meeting_with(Rank peer) const noexcept override;
  void stop_meeting(Rank peer) noexcept override { disconnect(peer); }

  TransportCapabilities capabilities() const noexcept override {
    return {.is_free_to_poll = traits().is_hardware,
            .moves_only_when_called = true,
            .delay_of_last_messages = std::chrono::milliseconds(100)};
  }
  bool reaches(Rank peer) const noexcept override;
  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool progress() override;
  void answers_elsewhere(Rank peer) override;
  bool may_sleep() override;
  int poll_descriptor() const noexcept override { return endpoint_->descriptor(); }
  bool needs_progress() const noexcept override;

  bool is_quiet() const noexcept override;
  void forget(Rank lost) override;
  void abandon() noexcept override;
  void allocated(std::span<std::byte> memory) override;
  void freed(const std::byte* memory) noexcept override;
  bool take_device_memory(std::span<std::byte> memory) override;
  void give_back_device_memory(std::span<const std::byte> memory) noexcept override {
    device_memory_.give_back(memory);
  }
  std::string report_of_device_memory() const override { return device_memory_.report(); }
  std::vector<LinkCounters> links() const override { return {link_}; }

  /// Returns what decides on memory of GPUs.
  FabricDeviceMemory& device_memory() noexcept { return device_memory_; }

  /// Returns the number of frames that came from no rank of this job.
  std::size_t strangers() const noexcept { return strangers_; }

 private:
  // FabricHub.
  TransportEvents& events() noexcept override { return *events_; }
  void flush(FabricPeer& peer) noexcept override;
  void lose(FabricPeer& peer, const Error& error) noexcept override;
  bool is_stopped() const noexcept override { return is_stopped_; }

  FabricPeer* peer_of(Rank rank) const {
    return peers_.at(static_cast<std::size_t>(rank.value)).get();
  }
  bool is_closed(const FabricPeer* peer) const noexcept {
    return is_stopped_ || peer == nullptr || peer->is_lost;
  }

  bool is_meeting() const noexcept;
  void greet(FabricPeer& peer);
  bool flush_all(FabricPeer& peer);
  bool flush_busy();

  bool poll_queue();
  void complete(const fabric::PortCompletion& completion);
  void fail(FabricOperation& operation, int error);
  void open_frame(std::span<const std::byte> bytes);
  void take(FabricPeer& peer, const FabricFrame& frame);

  bool lose_all(const Error& error) noexcept;
  void warn_of_refusal();
  void end_operations(const FabricPeer& peer);
  bool has_operations(const FabricPeer& peer) const noexcept;
  void say_farewell();
  bool is_awaited_to_leave(const FabricPeer& peer) const noexcept;
  void stop() noexcept;

  Rank self_;
  std::unique_ptr<fabric::FabricEndpoint> endpoint_;  ///< Outlives all memory that it uses.
  std::uint64_t token_;
  TransportEvents* events_ = nullptr;
  std::vector<std::unique_ptr<FabricPeer>> peers_;  ///< Indexed by rank; null where not connected.
  RegisteredMemory memory_;
  FabricDeviceMemory device_memory_{*endpoint_, memory_};
  ProgramMemory program_memory_;
  FabricFrames frames_;
  FabricShorts shorts_;
  FabricPuts puts_;
  FabricPieces pieces_;
  std::vector<FabricPeer*> busy_;  ///< Peers for which something waits.
  LinkCounters link_;
  std::size_t strangers_ = 0;
  bool is_leaving_ = false;  ///< The last frames are on their way.
  bool is_stopped_ = false;
};

}  // namespace fastgpu::comm
