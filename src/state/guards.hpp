// The limits at which a cluster ends or stops by itself, as the user sets them.
#pragma once

#include <chrono>
#include <optional>

#include "base/money.hpp"

namespace fastgpu::state {

struct Guards {
  /// The longest time from the creation to the end of the cluster.
  std::optional<std::chrono::seconds> max_life{};
  /// The maximum cost of computing, in the currency of the cluster's price.
  std::optional<Money> max_cost{};
  /// The longest time without a fastgpu command for the cluster, while a node runs.
  std::optional<std::chrono::seconds> unattended{};
  /// The idle time of a node before it is stopped.
  std::optional<std::chrono::seconds> idle_stop{};
  /// The idle or stopped time before the cluster is deleted.
  std::optional<std::chrono::seconds> idle_delete{};
  friend bool operator==(const Guards&, const Guards&) = default;
};

}  // namespace fastgpu::state
