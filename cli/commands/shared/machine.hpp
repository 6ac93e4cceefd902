// The type, place and price of the machines of a cluster.
#pragma once

#include <optional>
#include <string>

#include "base/money.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// The machine; empty, and free of charge, if it is not a cloud's.
struct Machine {
  std::string type{};
  std::string region{};
  std::string zone{};
  std::string gpus{};                           ///< "8xA100-80G"
  std::string market{};                         ///< "spot" or "on-demand"
  std::optional<Money> price = Money{0, kUsd};  ///< The price per hour; absent: unknown.
};

Machine machine_of(const state::Cluster& cluster);

/// Returns the network that the cluster is in, as one word: its range of addresses, or the
/// identifier of a cloud's network. Empty if the record has neither.
std::string network_word(const state::Cluster& cluster);

}  // namespace fastgpu::cli
