// The memory of gossip on one rank as bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/gossip/distance.hpp"
#include "comm/gossip/drift_guard.hpp"
#include "comm/gossip/gossip_settings.hpp"

namespace fastgpu::comm {

struct SavedGossip {
  int rank = 0;
  int ranks = 1;
  std::uint64_t registration = 0;  ///< A number that differs for other parameters.
  SharedOfGossip settings{};
  std::uint64_t step = 0;
  std::uint64_t measured = 0;
  GuardState guard{};
  bool is_exact_next = true;
  std::optional<DistanceMeter::Sums> sums{};  ///< A measurement that the next step hears of.
  std::optional<Sketch> noted{};              ///< A measurement that the next step goes on with.
  std::vector<float> numbers{};               ///< The memory of the mixers, one after the other.
  std::vector<double> weights{};

  friend bool operator==(const SavedGossip&, const SavedGossip&) = default;
};

std::vector<std::byte> encode(const SavedGossip& saved);

/// Throws ErrorKind::usage for bytes that encode() does not write, and for another format.
SavedGossip decode_gossip(std::span<const std::byte> bytes);

/// Returns a number that differs for two states.
std::uint64_t number_of(const GuardState& state);

}  // namespace fastgpu::comm
