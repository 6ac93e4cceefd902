// The conclusions of bench comm --codecs: the links on which each codec makes steps shorter. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/bench/result.hpp"

namespace fastgpu::cli {

/// A codec beside the exchange that changes nothing.
struct CodecGain {
  std::size_t result = 0;  ///< The index of its result.
  /// The time of a step without a codec, divided by the time with it. Absent for a codec that has
  /// sent the same bytes to other nodes: it encodes nothing of this model.
  std::optional<double> speed_up{};
  /// The codec shortens steps where a node sends fewer bytes per second than this to others:
  /// infinity on every link, 0 on none. Absent if nothing was sent to other nodes.
  std::optional<double> pays_below{};
};

/// Returns the gains of all results that have a codec, in their order. A step takes the time of its
/// bytes on the link and a time of its own, which stays on other links: t = own + bytes / link. The
/// link's speed is that of the all-reduce with `network_bytes`; the two codecs' times are equal at
/// (bytes - bytes') / (own' - own).
std::vector<CodecGain> codec_gains(const std::vector<comm::bench::BenchResult>& results);

/// Returns the bytes per second that the busiest node sent to others in the all-reduce beside
/// the codecs' results, over `transport`; absent without such a result, and if all ranks are on one
/// node.
std::optional<double> link_speed(const std::vector<comm::bench::BenchResult>& results,
                                 const std::string& transport);

}  // namespace fastgpu::cli
