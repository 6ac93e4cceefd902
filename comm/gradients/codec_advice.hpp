// Whether a codec would make the steps of a job shorter on its network. It changes sums, so it is
// only recommended, never taken.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fastgpu::comm {

/// Measurements of a job without a codec. Seconds and bytes are those of one step.
struct PlainStep {
  double seconds = 0;           ///< The whole step, with the program's own work.
  double waited = 0;            ///< The part of it in which the program waits for gradients.
  double bytes = 0;             ///< The gradients, in float32.
  double bytes_per_second = 0;  ///< The speed at which gradients are all-reduced between nodes.
};

/// The costs of a codec.
struct CodecCost {
  std::string wire{};           ///< The value of FASTGPU_COMM_WIRE.
  double part = 1;              ///< The bytes between nodes, of those without a codec.
  double seconds_per_byte = 0;  ///< The time to encode and decode a byte of a float32.
};

struct CodecAdvice {
  std::string wire{};
  double seconds = 0;  ///< The expected time of a step.
};

/// The least gain for which a codec is recommended.
inline constexpr double kWorthwhileGain = 0.1;

/// Returns the codec with the shortest step: seconds - min(waited, saved) + its own time. Absent if
/// none gains kWorthwhileGain. Encoding is taken to hide behind nothing.
std::optional<CodecAdvice> advised_codec(const PlainStep& step, std::span<const CodecCost> costs);

/// Measures the codecs on this machine, for gradients that `nodes` nodes exchange.
std::vector<CodecCost> measured_costs(std::size_t nodes);

/// Returns one sentence for the user.
std::string sentence_of(const CodecAdvice& advice, const PlainStep& step);

}  // namespace fastgpu::comm
