// The time of a step's exchange at many ranks: sums of codes, and gossip, with the messages that
// gradients/encoded_sum.hpp and gossip/gossip.hpp send.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/codecs/codec_table.hpp"
#include "comm/gossip/gossip_graphs.hpp"
#include "comm/simulator/simulated.hpp"

namespace fastgpu::comm {

/// The speed of a rank's processor with a codec.
struct CodecSpeed {
  Rate encode;  ///< Bytes of float32 numbers that it encodes.
  Rate add;     ///< Bytes of codes that it decodes and adds.
};

/// A codec that is not linear, as it is simulated.
struct SimulatedCodec {
  CodecChoice choice{};
  CodecSpeed speed{};
};

struct ExchangeForecast {
  Seconds duration{};
  std::uint64_t bytes_out = 0;  ///< The bytes that the ranks of node 0 send to other nodes.
};

/// Predicts the sum of `bytes` of float32 numbers by codes. Nodes have equally many ranks, in
/// order. Phases follow each other: a rank begins the next one when it has ended its own, as for
/// one bucket. `simulated.period` and `element_bytes` are chosen here.
ExchangeForecast simulate_sum_of_codes(const Simulated& simulated, const SimulatedCodec& codec,
                                       std::uint64_t bytes);

/// Predicts a step of gossip with `bytes` of float32 parameters; without a codec they are sent as
/// they are. As above.
ExchangeForecast simulate_gossip(const Simulated& simulated, const GossipTopology& topology,
                                 const std::optional<SimulatedCodec>& codec, std::uint64_t bytes);

/// Predicts the all-reduce of `bytes` of float32 numbers by the library's plan.
ExchangeForecast simulate_all_reduce(const Simulated& simulated, std::uint64_t bytes);

}  // namespace fastgpu::comm
