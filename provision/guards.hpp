// When the limits are reached at which a cluster ends or stops by itself (state/guards.hpp). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/money.hpp"
#include "state/model.hpp"

namespace fastgpu::provision {

using state::Guards;

/// The cost of a cluster so far, and its present cost of an hour, in one currency.
struct Spending {
  Money so_far{0, kUsd};
  Money per_hour{0, kUsd};
};

/// Returns the spending at `now`. `price` is the price of one machine for an hour.
Spending spending_of(std::span<const state::Run> runs, const Money& price, state::TimePoint now);

/// Returns the end of the last run; absent while something runs, or if nothing has ever run.
std::optional<state::TimePoint> stopped_since(std::span<const state::Run> runs);

/// The facts about a cluster that the guards depend on.
struct Watched {
  state::TimePoint created{};
  state::TimePoint contact{};  ///< The time of the last fastgpu command for the cluster.
  std::optional<state::TimePoint> stopped{};
  Spending spending{};
};

enum class EndCause : std::uint8_t { max_life, max_cost, unattended, idle };

struct End {
  state::TimePoint when{};
  EndCause cause{};
};

/// Returns the nearest limit that is reached by the passing of time alone; absent without such a
/// limit. While a cluster is stopped, neither its cost nor the time without contact grows.
std::optional<End> end_of(const Guards& guards, const Watched& cluster, state::TimePoint now);

/// Returns the end of `count` machines that are about to be launched at `price`, counted from
/// `start`; absent if no guard ends them.
std::optional<state::TimePoint> first_end(const Guards& guards, state::TimePoint created,
                                          state::TimePoint start, const std::optional<Money>& price,
                                          int count);

/// Returns the guard that explains why a cluster has no machine left: a limit that it had reached,
/// or idleness if `nodes_act`, that is if nodes end themselves. Absent if no guard explains it.
/// Ignores `cluster.stopped`, which is only the time at which the loss was noticed.
std::optional<EndCause> ended_by(const Guards& guards, const Watched& cluster, bool nodes_act,
                                 state::TimePoint now);

/// Returns the reason for the end as a part of a sentence: "its life of 8h is over".
std::string reason_of(const Guards& guards, EndCause cause);

}  // namespace fastgpu::provision
