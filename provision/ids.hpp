// Random identities that mark every resource of ours, so that it can be found again.
#pragma once

#include <string>

#include "state/model.hpp"

namespace fastgpu::provision {

state::ClusterId new_cluster_id();  ///< Returns eight hexadecimal digits.
std::string new_token();            ///< Returns thirty-two hexadecimal digits.

}  // namespace fastgpu::provision
