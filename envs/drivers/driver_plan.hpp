// Plans the steps from a goal and a node's facts. No step runs here.
#pragma once

#include <cstdint>
#include <vector>

#include "envs/drivers/recipe.hpp"
#include "envs/drivers/step.hpp"

namespace fastgpu::envs {

/// The age of a node's view of its repository.
enum class Index : std::uint8_t { perhaps_old, just_read };

/// Returns the steps for the driver, CUDA and their companions, in order; finished steps are
/// included. A node without a GPU that has RDMA gets those for RDMA alone. Throws ErrorKind::usage
/// if it is not possible (neither of them, a driver that does not support the GPU, a system without
/// packages).
std::vector<DriverStep> driver_steps(const Recipe& recipe, const NodeFacts& facts,
                                     const Matrix& matrix, Index index);

}  // namespace fastgpu::envs
