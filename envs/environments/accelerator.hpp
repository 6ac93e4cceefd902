// What a name of the matrix that leaves the accelerator open computes on: chosen from the facts of
// the nodes. Pure.
#pragma once

#include <span>
#include <string>

#include "envs/facts/facts.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::envs {

struct KnownNode {
  std::string name;
  NodeFacts facts;
};

struct AcceleratorChoice {
  EnvironmentName name;  ///< The whole of it.
  std::string reason;    ///< "driver 570.26 carries CUDA 12.8"
};

/// NVIDIA's GPUs get the newest CUDA for which the frameworks are made and which every driver there
/// carries by itself, or else by minor version compatibility; where there is no driver yet, that of
/// the oldest maintained branch counts. Ascend gets the CANN that is there, or the newest; nodes
/// without any of them get cpu. `nodes` has at least one. Throws ErrorKind::conflict where they are
/// of several kinds, usage where the frameworks are not made for what they have.
AcceleratorChoice choose_accelerator(const Matrix& matrix, const EnvironmentName& open,
                                     std::span<const KnownNode> nodes);

}  // namespace fastgpu::envs
