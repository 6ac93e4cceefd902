// The scheduler that fastgpu sets up on the nodes of a cluster.
#pragma once

#include <cstdint>

namespace fastgpu::state {

enum class Scheduler : std::uint8_t { none, slurm };

}  // namespace fastgpu::state
