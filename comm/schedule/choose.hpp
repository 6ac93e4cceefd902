// Picks algorithm and pieces by what they are predicted to take.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/network.hpp"

namespace fastgpu::comm {

enum class Collective : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast };

struct Candidate {
  Plan plan{};
  Seconds predicted{};
};

struct Choice {
  Collective collective = Collective::all_reduce;
  double bytes = 0;    ///< Of the data of one rank.
  int most_lanes = 1;  ///< What the transport has.
};

/// All plans worth considering, the quickest first; among equals, the simplest. Never empty.
/// A ring is a chain to a broadcast.
std::vector<Candidate> candidates(const Choice& choice, const Topology& topology,
                                  const Network& network);

/// The program of what candidates() has planned. `root` is of broadcast.
Program program_of(Collective collective, const Plan& plan, Rank self, const Topology& topology,
                   std::uint64_t count, Rank root = {});

}  // namespace fastgpu::comm
