// The state of one rank's multistep training, as bytes for a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/multistep/multistep_settings.hpp"
#include "comm/multistep/round_clock.hpp"

namespace fastgpu::comm {

/// The memory of one tensor; parts that the mode does not have are empty.
struct SavedTensor {
  std::string name;
  std::vector<std::byte> values{};
  std::vector<std::byte> work{};
  std::vector<std::byte> anchor{};
  std::vector<std::byte> momentum{};

  friend bool operator==(const SavedTensor&, const SavedTensor&) = default;
};

struct SavedMultistep {
  Rank rank{};
  int ranks = 1;
  std::string mode;  ///< The mode with all options.
  RoundClock::State clock{};
  std::optional<RoundVerdict> unused{};  ///< The verdict of a round whose results wait in `work`.
  std::vector<SavedTensor> tensors{};
  std::vector<std::vector<std::byte>> codecs{};  ///< The states of exchanges, by slice.
};

/// The bytes of a state that a tensor has beside its name and its memory, and a codec beside its
/// own state.
constexpr std::size_t kSavedTensorHead = 5 * sizeof(std::uint64_t);
constexpr std::size_t kSavedCodecHead = sizeof(std::uint64_t);

std::vector<std::byte> encode(const SavedMultistep& state);

/// Throws ErrorKind::usage for bytes that `encode` has not written.
SavedMultistep decode_multistep(std::span<const std::byte> bytes);

/// Throws ErrorKind::usage, naming both, unless the state is that of this rank, number of ranks and
/// mode.
void check_state_of(const SavedMultistep& state, Rank rank, int ranks,
                    const MultistepSettings& mode);

}  // namespace fastgpu::comm
