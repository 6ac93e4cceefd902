// The type, place and price of the machines of a cluster.
#pragma once

#include <optional>
#include <string>

#include "base/money.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// The machines of a cluster. For a cluster outside clouds the texts are empty and the price is 0.
struct MachineSummary {
  std::string type{};
  std::string region{};
  std::string zone{};
  std::string gpus{};                           ///< "8xA100-80G"
  std::string market{};                         ///< "spot" or "on-demand"
  std::optional<Money> price = Money{0, kUsd};  ///< The price per hour; absent if it is unknown.
};

MachineSummary machine_of(const state::Cluster& cluster);

/// Returns the network of the cluster: its range of addresses, or the cloud's id of it. Empty if
/// neither is recorded.
std::string network_word(const state::Cluster& cluster);

}  // namespace fastgpu::cli
