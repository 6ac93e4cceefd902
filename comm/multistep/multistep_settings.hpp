// The modes of multistep training: what ranks exchange, and every how many steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/common/process_environment.hpp"

namespace fastgpu::comm {

enum class MultistepMode : std::uint8_t {
  /// Not where memory has room for the larger batch. Gradients of several steps are added, and
  /// averaged over the ranks once.
  accumulate,
  /// Not where the data of ranks differ in kind. Each rank trains alone; parameters are averaged
  /// every few steps.
  local_steps,
  /// Not where the network keeps up with `local_steps`. An outer optimizer applies the averaged
  /// difference.
  diloco,
  /// Not near the highest learning rate that converges. The averages of a step are applied in the
  /// next one, and travel meanwhile.
  delay,
  /// Not to save bytes. Each step averages one slice of the parameters.
  slices
};

struct MultistepSettings {
  MultistepMode mode = MultistepMode::accumulate;
  /// Steps in a round; the number of slices for MultistepMode::slices. 1 for MultistepMode::delay.
  std::uint32_t steps = 1;
  std::uint64_t warmup = 0;  ///< The first rounds that have one step each.
  double rate = 1;           ///< The learning rate of the outer optimizer.
  double momentum = 0;       ///< The Nesterov momentum of the outer optimizer.

  friend bool operator==(const MultistepSettings&, const MultistepSettings&) = default;
};

constexpr std::uint32_t kMostStepsOfRound = 1'000'000;
constexpr std::uint32_t kMostSlices = 256;

/// Returns true for modes that average gradients, false for those that average parameters.
bool averages_gradients(MultistepMode mode) noexcept;

/// Parses the mode with its number, and its options after commas: "accumulate=4", "local_steps=8",
/// "local_steps=8,warmup=1000", "diloco=500,rate=0.7,momentum=0.9", "delay=1", "slices=8". Throws
/// ErrorKind::usage, naming the part that is wrong.
MultistepSettings multistep_settings(std::string_view text);

/// Reads FASTGPU_COMM_MULTISTEP; absent without it. Throws as above, naming the variable.
std::optional<MultistepSettings> multistep_settings_of(const Environment& environment);

/// Returns the text that `multistep_settings` parses to these settings, with all options.
std::string to_string(const MultistepSettings& settings);

/// Returns the number of steps that a rank makes in a round. Rounds are counted from 0.
std::uint32_t steps_of_round(const MultistepSettings& settings, std::uint64_t round) noexcept;

/// Returns the slice that a round averages; 0 for modes without slices.
std::uint32_t slice_of_round(const MultistepSettings& settings, std::uint64_t round) noexcept;

/// Returns the number of steps since the last average of what a round averages.
std::uint32_t steps_since_average(const MultistepSettings& settings, std::uint64_t round) noexcept;

}  // namespace fastgpu::comm
