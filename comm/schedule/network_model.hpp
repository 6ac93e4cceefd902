// A model of transfer times: measured on a cluster, and used to predict.
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

/// A connection. A message of S bytes alone on its way takes latency + S / flow (Hockney's alpha
/// and beta).
struct NetworkLink {
  Seconds latency{};
  Rate flow;  ///< The maximum from one rank to another on one lane.
  /// The maximum of all ranks of a node together: each way between nodes, both inside.
  Rate shared;
};

struct NetworkModel {
  NetworkLink inside;     ///< Between ranks of one node.
  NetworkLink across;     ///< Between nodes.
  Seconds per_message{};  ///< Time of a rank's processor for each send and each receive (LogP's o).
  Rate reduce;            ///< Bytes that a rank's processor adds to others.
  Rate copy;              ///< Bytes that a rank's processor copies within its memory.
};

}  // namespace fastgpu::comm
