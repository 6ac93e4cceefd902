// A flow whose frames another transport carries: each is a message with the frame's header, and
// one with its bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/transports/flow.hpp"
#include "comm/transports/flow_carrier.hpp"

namespace fastgpu::comm {

class CarriedFlow final : public Flow, public CarrierClient {
 private:
  struct Leaving;
  struct Coming;

 public:
  /// A message by the carrier that is under way.
  struct OutgoingPart : CarriedOutgoing {
    Leaving* frame = nullptr;
  };
  struct IncomingPart : CarriedIncoming {
    Coming* frame = nullptr;
  };

  /// Begins to await frames from the peer, whose flow to this rank begins likewise.
  CarriedFlow(Rank peer, FlowCarrier& carrier, LinkCounters& link);
  CarriedFlow(const CarriedFlow&) = delete;
  CarriedFlow& operator=(const CarriedFlow&) = delete;
  ~CarriedFlow() override;

  bool is_open() const noexcept override { return is_open_; }
  bool has_ended() const noexcept override { return ending_.has_value(); }
  bool carries_notices() const noexcept override { return false; }
  bool goes_first() const noexcept override;

  /// Waits until the carrier uses the memory of messages no more, but not for long.
  Remains give_up() noexcept override;
  /// The network of the flow is abandoned too, and carries nothing more.
  void abandon() override;

  // ---- sending ----
  /// Returns whether the peer has confirmed all frames but few: as many as arrive in a short time.
  bool has_room() const noexcept override {
    return is_open_ && !ending_ && unconfirmed_.size() < window_;
  }
  bool is_idle() const noexcept override { return !has_frame_; }
  void begin(const Frame& frame, std::span<const std::byte> body, Outgoing* owner) override;
  void begin_copy(const Frame& frame, std::span<const std::byte> body) override;
  bool write() override;
  Outgoing* owner() const noexcept override { return owner_; }
  std::size_t body_bytes() const noexcept override { return body_.size(); }
  void disown() noexcept override { owner_ = nullptr; }
  void confirmed(std::size_t frames) override;

  // ---- receiving ----
  bool read(FrameEvents& events) override;
  bool is_silent() const noexcept override;
  const char* silence() const noexcept override { return "1 s"; }

  // ---- for the carrier ----
  void sent(CarriedOutgoing& message) override;
  void received(CarriedIncoming& message) override;
  void lost(const Error& error) override;
  /// Asks the carrier for the bytes of the frames whose headers have come, and for further headers.
  void advance() noexcept override;

  std::size_t window() const noexcept { return window_; }  ///< Frames that may be unconfirmed.

 private:
  /// A frame that the carrier has not sent yet.
  struct Leaving {
    EncodedFrame header{};
    std::vector<std::byte> copied{};
    OutgoingPart head{};
    OutgoingPart body{};
    int parts = 0;  ///< The number of messages that have not left.
    std::list<Leaving>::iterator self{};
  };

  enum class Progress : std::uint8_t { awaits_header, has_header, awaits_bytes, is_whole };

  /// A frame that comes, or is awaited.
  struct Coming {
    Progress progress = Progress::awaits_header;
    EncodedFrame header{};
    Frame frame{};
    std::span<std::byte> block{};
    IncomingPart head{};
    IncomingPart body{};
  };

  void await_header();
  void await_bytes(Coming& coming);
  void open_header(Coming& coming);

  Rank peer_;
  FlowCarrier& carrier_;
  bool is_open_ = true;
  std::optional<Error> ending_{};    ///< The reason why the carrier has given the peer up.
  std::optional<Error> nonsense_{};  ///< The fault in what the peer sent.

  Frame frame_{};
  bool has_frame_ = false;
  std::span<const std::byte> body_{};
  std::vector<std::byte> copied_{};
  Outgoing* owner_ = nullptr;
  std::uint64_t frames_out_ = 0;
  std::list<Leaving> leaving_;
  std::deque<Clock::time_point> unconfirmed_;  ///< When frames were sent that are not confirmed.
  std::size_t window_ = 4;
  Clock::duration usual_time_{};  ///< The time until a frame is confirmed, on average.

  std::uint64_t frames_in_ = 0;
  std::deque<Coming> coming_;  ///< Does not move its elements.
};

}  // namespace fastgpu::comm
