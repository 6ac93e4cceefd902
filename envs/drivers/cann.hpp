// Huawei's CANN, by the installers that it comes as.
#pragma once

#include <string>
#include <vector>

#include "envs/drivers/plan.hpp"

namespace fastgpu::envs {

/// A program of Huawei's that unpacks itself: Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run
struct CannInstaller {
  std::string from;  ///< Its address, or its path on the nodes.
  std::string sha256;
};

struct Cann {
  std::string version;                      ///< "8.3.RC1"
  std::vector<CannInstaller> installers{};  ///< Run in this order.
};

/// What CANN's installers ask for.
std::vector<std::string> cann_packages();

/// Each installer is a step; one that was cut off runs again, and those before it do not. A CANN of
/// that version that is there without us is taken as it is. Throws usage where there are no Ascend
/// processors, or neither apt nor dnf, and remote where all installers have run and that version is
/// not there.
std::vector<Step> cann_steps(const Cann& cann, const NodeFacts& facts);

}  // namespace fastgpu::envs
