// A model of how long bytes take: what is measured of a cluster, and predicted from.
#pragma once

#include <chrono>

namespace fastgpu::comm {

using Seconds = std::chrono::duration<double>;

struct Rate {
  double bytes_per_second = 1;  ///< Above 0.

  Seconds to_move(double bytes) const noexcept { return Seconds(bytes / bytes_per_second); }
  friend auto operator<=>(const Rate&, const Rate&) = default;
};

constexpr Rate gigabytes(double per_second) noexcept {
  return {per_second * 1e9};
}
constexpr Rate gigabits(double per_second) noexcept {
  return {per_second * 1e9 / 8};
}

/// A message of S bytes alone on its way takes latency + S / flow (Hockney's alpha and beta).
struct Link {
  Seconds latency{};
  Rate flow;    ///< At most, of what one rank sends to another on one lane.
  Rate shared;  ///< At most, of all ranks of a node together: each way between nodes, both inside.
};

struct Network {
  Link inside;            ///< Between ranks of one node.
  Link across;            ///< Between nodes.
  Seconds per_message{};  ///< Of a rank's processor, for each send and each receive (LogP's o).
  Rate reduce;            ///< Of a rank's processor: bytes added to others.
  Rate copy;              ///< Of a rank's processor: bytes copied within its memory.
};

}  // namespace fastgpu::comm
