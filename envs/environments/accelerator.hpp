// The accelerator for a name of the matrix that leaves it open: chosen from the facts of the nodes.
// Pure.
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
  EnvironmentName name;  ///< The complete name.
  std::string reason;    ///< "driver 570.26 carries CUDA 12.8"
};

/// Chooses the accelerator. NVIDIA's GPUs get the newest CUDA that the frameworks are made for and
/// that every driver there supports directly, or else by minor version compatibility. Without a
/// driver, that of the oldest maintained branch counts. Ascend gets the installed CANN, or the
/// newest; nodes without accelerators get cpu. `nodes` has at least one. Throws ErrorKind::conflict
/// if they are of several kinds, usage if the frameworks are not made for their kind.
AcceleratorChoice choose_accelerator(const Matrix& matrix, const EnvironmentName& open,
                                     std::span<const KnownNode> nodes);

}  // namespace fastgpu::envs
