// A question for the best plan.
#pragma once

#include <cstdint>

namespace fastgpu::comm {

enum class Collective : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast };

struct Choice {
  Collective collective = Collective::all_reduce;
  double bytes = 0;    ///< The size of one rank's data.
  int most_lanes = 1;  ///< The number of lanes that the transport has.
};

}  // namespace fastgpu::comm
