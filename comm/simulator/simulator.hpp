// Predicts the duration of programs on a modelled network, by running them event after event.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/simulator/simulated.hpp"

namespace fastgpu::comm {

struct Forecast {
  Seconds duration{};                     ///< The time of the last event.
  std::vector<Seconds> ends{};            ///< The end of the last step of each rank that was run.
  std::uint64_t messages = 0;             ///< Messages sent by the ranks that were run.
  std::uint64_t most_bytes_sent = 0;      ///< The maximum of one rank.
  std::uint64_t most_bytes_received = 0;  ///< The maximum of one rank.
};

/// Runs programs without faults (check.hpp). Throws ErrorKind::internal if they do not end.
Forecast simulate(const Simulated& simulated, const ProgramOf& program_of);

}  // namespace fastgpu::comm
