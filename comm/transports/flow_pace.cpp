#include "comm/transports/flow_pace.hpp"

#include <algorithm>
#include <cmath>

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Confirmations come several at a time: a rate is that of about this time, and known after less.
constexpr FlowPace::Seconds kMemory = 30ms;
constexpr FlowPace::Seconds kLeastMeasured = 1ms;

/// A flow that has got nothing for this time, or for this many times what a chunk takes on it, is
/// tried again: it may have become faster.
constexpr FlowPace::Seconds kTriedAgain = 100ms;
constexpr double kTriedAgainTimes = 20;

}  // namespace

void FlowPace::sent(std::size_t bytes, Clock::time_point now) noexcept {
  if (under_way_ == 0) {
    was_idle_ = true;
    since_ = now;
  }
  under_way_ += bytes;
  last_sent_ = now;
}

void FlowPace::confirmed(std::size_t bytes, Clock::time_point now) noexcept {
  under_way_ -= std::min(bytes, under_way_);
  const Seconds took = now - since_;
  since_ = now;
  if (was_idle_) {
    was_idle_ = false;
    if (is_known()) {
      const Seconds needed(static_cast<double>(bytes) / rate_);
      latency_ += (std::max(took - needed, Seconds{}) - latency_) / 4;
      return;
    }
  }
  const double kept = std::exp(-took / kMemory);
  counted_bytes_ = counted_bytes_ * kept + static_cast<double>(bytes);
  counted_time_ = counted_time_ * kept + took;
  if (counted_time_ >= kLeastMeasured) rate_ = counted_bytes_ / counted_time_.count();
}

FlowPace::Seconds FlowPace::time_of(std::size_t bytes, Clock::time_point now) const noexcept {
  const Seconds needed = latency_ + Seconds(static_cast<double>(under_way_ + bytes) / rate_);
  // A confirmation that is late by some time may be late by as much again.
  return under_way_ == 0 ? needed : std::max(needed, Seconds(now - since_));
}

void ChunkOffer::add_other(const FlowPace& other) noexcept {
  if (!other.is_known()) {
    has_untried_ = has_untried_ || other.under_way() == 0;
    return;
  }
  soonest_ = std::min(soonest_, other.time_of(chunk_, now_));
  least_latency_ = std::min(least_latency_, other.latency());
  rate_ += other.rate();
  bytes_ += static_cast<double>(other.under_way());
}

bool ChunkOffer::is_for(const FlowPace& flow) const noexcept {
  if (!flow.is_known()) return true;
  if (has_untried_) return false;  // That one is to show how fast it is.
  if (rate_ == 0) return true;
  const FlowPace::Seconds mine = flow.time_of(chunk_, now_);
  const FlowPace::Seconds unused = now_ - flow.last_sent();
  const bool is_tried = unused > std::max(kTriedAgain, kTriedAgainTimes * mine);
  // One of the others takes the chunk last, whatever their rates are together.
  return is_tried || mine <= std::max(soonest_, least_latency_ + FlowPace::Seconds(bytes_ / rate_));
}

}  // namespace fastgpu::comm
