// The users' settings of gossip, the method that follows from them, and what does not fit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
  /// step of difference compression; absent: that of the codec. Has no effect without a codec.
  std::optional<double> step_size{};
  int guard = 8;  ///< FASTGPU_COMM_GUARD: the distance is measured every so many steps; 0: never.
  std::string timeline{};  ///< FASTGPU_COMM_TIMELINE: a folder for one file a rank; empty: none.
  std::string counters{};  ///< FASTGPU_COMM_COUNTERS: as above.

  friend bool operator==(const GossipSettings&, const GossipSettings&) = default;
};

/// Reads the variables. Without FASTGPU_COMM_EXCHANGE it is gossip. With all_reduce the settings of
/// gossip are checked and otherwise have no effect, and the wires of gradients are valid. Throws
/// ErrorKind::usage, naming the variable, for an invalid value.
GossipSettings gossip_settings(const Environment& environment);

/// Throws as gossip_settings() does, for the variables that gossip alone has, if the program may
/// not use it; for all of them if it is to.
void check_gossip_variables(const Environment& environment);

/// The variables that must be the same on all ranks, and for a saved state. The exchange is the
/// first, because others have no effect with all_reduce.
constexpr std::array<std::string_view, 5> kSharedOfGossip{
    "FASTGPU_COMM_EXCHANGE", "FASTGPU_COMM_TOPOLOGY", "FASTGPU_COMM_WIRE",
    "FASTGPU_COMM_GOSSIP_STEP", "FASTGPU_COMM_GUARD"};

/// One number for each of these variables.
using SharedOfGossip = std::array<std::uint64_t, kSharedOfGossip.size()>;

/// Returns numbers that differ for other values. A setting without effect has the number of its
/// default.
SharedOfGossip shared_of(const GossipSettings& settings);

/// Returns the first variable whose numbers differ; empty if all are the same.
std::string_view differing_variable(const SharedOfGossip& one,
                                    const SharedOfGossip& other) noexcept;

/// Returns true if FASTGPU_COMM_EXCHANGE is gossip. Throws ErrorKind::usage for an unknown value.
bool wishes_gossip(const Environment& environment);

/// Throws ErrorKind::usage if gradients are exchanged, or training is multistep, where the
/// environment wishes gossip.
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
