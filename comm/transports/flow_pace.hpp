// How fast each way to a rank is, and whether one of them is worth the next bytes of a message.
#pragma once

#include <chrono>
#include <cstddef>

namespace fastgpu::comm {

/// The pace of one flow, from the times at which the peer confirms what was sent by it.
class FlowPace {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  void sent(std::size_t bytes, Clock::time_point now) noexcept;
  /// The peer has confirmed the oldest of the bytes that are under way.
  void confirmed(std::size_t bytes, Clock::time_point now) noexcept;
  /// Forgets what is under way: the flow was given up.
  void forget_sent() noexcept { under_way_ = 0; }

  std::size_t under_way() const noexcept { return under_way_; }  ///< Bytes that are not confirmed.
  bool is_known() const noexcept { return rate_ > 0; }
  double rate() const noexcept { return rate_; }  ///< Bytes a second, while some are under way.
  /// Returns what the first bytes take on an idle flow beside the time that their number needs.
  Seconds latency() const noexcept { return latency_; }
  Clock::time_point last_sent() const noexcept { return last_sent_; }

  /// Returns the time from `now` until the peer will have confirmed what is under way and so many
  /// bytes more. The pace is known.
  Seconds time_of(std::size_t bytes, Clock::time_point now) const noexcept;

 private:
  std::size_t under_way_ = 0;
  bool was_idle_ = true;       ///< True until the first bytes after a pause are confirmed.
  Clock::time_point since_{};  ///< When that was sent, or the last was confirmed.
  Clock::time_point last_sent_{};
  double counted_bytes_ = 0;  ///< Confirmed in `counted_time_`; what is long ago counts less.
  Seconds counted_time_{};
  double rate_ = 0;
  Seconds latency_{};
};

/// The decision whether a flow is to take the next chunk of a message: not where the others would
/// be done with everything before it. That is the rule of the scheduler ECF for multipath TCP (Lim
/// et al., "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths", CoNEXT 2017).
class ChunkOffer {
 public:
  /// Offers the next `chunk` bytes. No flow has taken the `waiting` bytes yet, these among them.
  ChunkOffer(std::size_t chunk, std::size_t waiting, FlowPace::Clock::time_point now) noexcept
      : now_(now), chunk_(chunk), bytes_(static_cast<double>(waiting)) {}

  /// Adds a flow that may carry messages, too.
  void add_other(const FlowPace& other) noexcept;

  bool is_for(const FlowPace& flow) const noexcept;

 private:
  FlowPace::Clock::time_point now_;
  std::size_t chunk_;
  double bytes_;  ///< The bytes that wait, and those under way on the others.
  double rate_ = 0;
  bool has_untried_ = false;
  FlowPace::Seconds soonest_ = FlowPace::Seconds::max();
  FlowPace::Seconds least_latency_ = FlowPace::Seconds::max();
};

}  // namespace fastgpu::comm
