// What ends or stops a cluster without anybody's doing: the user's limits, and when they are
// reached. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/money.hpp"
#include "state/model.hpp"

namespace fastgpu::provision {

struct Guards {
  std::optional<std::chrono::seconds> max_life{};  ///< Since the creation.
  std::optional<Money> max_cost{};  ///< Of computing, in the currency of the cluster's price.
  /// Since a fastgpu last looked after it, while something runs.
  std::optional<std::chrono::seconds> unattended{};
  std::optional<std::chrono::seconds> idle_stop{};    ///< On a node, before it is stopped.
  std::optional<std::chrono::seconds> idle_delete{};  ///< And before the cluster goes.
  friend bool operator==(const Guards&, const Guards&) = default;
};

/// Guards are a part of state::Cluster::spec_json, whatever the provider. Throws ErrorKind::local
/// for what no fastgpu has written.
Guards guards_of(const std::string& spec_json);
std::string with_guards(const std::string& spec_json, const Guards& guards);

/// What a cluster has cost, and costs an hour now, in one currency.
struct Spending {
  Money so_far{0, kUsd};
  Money per_hour{0, kUsd};
};

/// `price` is a machine's, an hour.
Spending spending_of(std::span<const state::Run> runs, const Money& price, state::TimePoint now);

/// When the last run ended; absent where something runs, or nothing ever did.
std::optional<state::TimePoint> stopped_since(std::span<const state::Run> runs);

/// A cluster as guards see it.
struct Watched {
  state::TimePoint created{};
  state::TimePoint contact{};  ///< When a fastgpu last looked after it.
  std::optional<state::TimePoint> stopped{};
  Spending spending{};
};

enum class EndCause : std::uint8_t { max_life, max_cost, unattended, idle };

struct End {
  state::TimePoint when{};
  EndCause cause{};
};

/// The nearest of the limits that time alone will reach. While a cluster is stopped neither its
/// cost nor the time without contact grows.
std::optional<End> end_of(const Guards& guards, const Watched& cluster, state::TimePoint now);

/// The end that machines are launched with, before any of them has run: for `count` of them at
/// `price`, counted from `start`.
std::optional<state::TimePoint> first_end(const Guards& guards, state::TimePoint created,
                                          state::TimePoint start, const std::optional<Money>& price,
                                          int count);

/// Why a cluster of which no machine is left was ended by a guard of its own: by a limit that it
/// had reached, or by idleness where `nodes_act`, that is where nodes end themselves; absent where
/// no guard explains it. `stopped` of the cluster is passed over: it is when the loss was noticed.
std::optional<EndCause> ended_by(const Guards& guards, const Watched& cluster, bool nodes_act,
                                 state::TimePoint now);

/// "its life of 8h is over": why a cluster ends, of its limit.
std::string reason_of(const Guards& guards, EndCause cause);

}  // namespace fastgpu::provision
