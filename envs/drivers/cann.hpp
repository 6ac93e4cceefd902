// Huawei's CANN, by its own installers.
#pragma once

#include <string>
#include <vector>

#include "envs/drivers/driver_plan.hpp"

namespace fastgpu::envs {

/// A self-extracting program of Huawei's: Ascend-cann-toolkit_8.3.RC1_linux-aarch64.run
struct CannInstaller {
  std::string from;  ///< The address, or the path on the nodes.
  std::string sha256;
};

struct Cann {
  std::string version;                      ///< "8.3.RC1"
  std::vector<CannInstaller> installers{};  ///< Run in this order.
};

/// Returns the packages that CANN's installers require.
std::vector<std::string> cann_packages();

/// Returns a step for each installer. An interrupted one runs again, and those before it do not. A
/// CANN of that version from another source is used unchanged. Throws usage without Ascend
/// processors, or with neither apt nor dnf, and remote if all installers have run and that version
/// is missing.
std::vector<DriverStep> cann_steps(const Cann& cann, const NodeFacts& facts);

}  // namespace fastgpu::envs
