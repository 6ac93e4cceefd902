// The users' settings of gossip, the method that follows from them, and what does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/codecs/codec_table.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/gossip/gossip_graphs.hpp"
#include "comm/gossip/graph.hpp"

namespace fastgpu::comm {

constexpr int kMostGuardSteps = 1'000'000;

struct GossipSettings {
  bool is_exact = false;               ///< FASTGPU_COMM_EXCHANGE: all_reduce, or gossip.
  GossipTopology topology{};           ///< FASTGPU_COMM_TOPOLOGY.
  std::optional<CodecChoice> codec{};  ///< FASTGPU_COMM_WIRE: same, or a codec.
  /// FASTGPU_COMM_GOSSIP_STEP: the part of the difference of estimates that is taken over in each
  /// step of difference compression; absent: that of the codec.
  std::optional<double> step_size{};
  int guard = 8;  ///< FASTGPU_COMM_GUARD: the distance is measured every so many steps; 0: never.
  std::string timeline{};  ///< FASTGPU_COMM_TIMELINE: a folder for one file a rank; empty: none.
  std::string counters{};  ///< FASTGPU_COMM_COUNTERS: as above.

  friend bool operator==(const GossipSettings&, const GossipSettings&) = default;
};

/// Reads the variables. Without FASTGPU_COMM_EXCHANGE it is gossip. Throws ErrorKind::usage, naming
/// the variable, for an invalid value.
GossipSettings gossip_settings(const Environment& environment);

/// Returns true if FASTGPU_COMM_EXCHANGE is gossip. Throws ErrorKind::usage for an unknown value.
bool wishes_gossip(const Environment& environment);

/// Throws ErrorKind::usage if gradients are exchanged where the environment wishes gossip.
void check_wishes_no_gossip(const Environment& environment);

/// The way in which members mix their numbers.
enum class MixMethod : std::uint8_t {
  exact,       ///< The average of all, in each step.
  averaging,   ///< The weighted average of neighbours' numbers (D-PSGD).
  difference,  ///< Codes of the difference from an estimate that both ends keep (CHOCO-SGD).
  push_sum     ///< Sums and their weights, for graphs in which weights add up one way only (SGP).
};

std::string_view name_of(MixMethod method) noexcept;

/// Returns the method for the weights of the topology. Throws ErrorKind::usage, with what fits, for
/// a codec and a topology that do not go together.
MixMethod method_of(const GossipSettings& settings, WeightsKind weights, bool is_static);

/// Returns the part of a difference that a codec can take over in each step on usual graphs.
double usual_step_size(const CodecChoice& codec) noexcept;

}  // namespace fastgpu::comm
