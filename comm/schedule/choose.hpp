// Picks algorithm and pieces by their predicted time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/choice.hpp"
#include "comm/schedule/network_model.hpp"

namespace fastgpu::comm {

struct Candidate {
  SchedulePlan plan{};
  Seconds predicted{};
};

/// Returns all plans worth considering, the quickest first; among equals, the simplest. Never
/// empty. A ring is a chain to a broadcast.
std::vector<Candidate> candidates(const Choice& choice, const Topology& topology,
                                  const NetworkModel& network);

/// Returns the program of a plan from candidates(). `root` is that of a broadcast.
Program program_of(Collective collective, const SchedulePlan& plan, Rank self,
                   const Topology& topology, std::uint64_t count, Rank root = {});

}  // namespace fastgpu::comm
