// The agreement of ranks on the training that they begin or continue.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "comm/communicator/communicator.hpp"
#include "comm/multistep/multistep_settings.hpp"

namespace fastgpu::comm {

/// Compares the modes of ranks, by a collective call. Throws ErrorKind::usage, on every rank,
/// naming the first rank whose mode is not that of rank 0.
void check_same_mode(Communicator& communicator, const MultistepSettings& mode);

/// The place in a training at which a rank begins or continues.
struct TrainingPlace {
  std::uint64_t round = 0;
  std::uint64_t fingerprint = 0;  ///< A number that differs for different trainings.

  friend bool operator==(const TrainingPlace&, const TrainingPlace&) = default;
};

/// Compares the places of ranks, by a collective call. Throws ErrorKind::usage, on every rank,
/// naming the first rank whose place is not that of rank 0.
void check_same_place(Communicator& communicator, const TrainingPlace& mine);

/// Returns the first rank whose place, by rank, is not that of rank 0; absent if all are the same.
std::optional<Rank> first_elsewhere(std::span<const TrainingPlace> places);

/// Returns the sentence about a rank at `theirs`, and rank 0 elsewhere at `reference`.
std::string describe_difference(Rank rank, const TrainingPlace& theirs,
                                const TrainingPlace& reference);

}  // namespace fastgpu::comm
