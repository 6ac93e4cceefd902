// Identities made by chance: they are written on what we make, so that it can be found again.
#pragma once

#include <string>

#include "state/model.hpp"

namespace fastgpu::provision {

state::ClusterId new_cluster_id();  ///< Eight hexadecimal digits.
std::string new_token();            ///< Thirty-two hexadecimal digits.

}  // namespace fastgpu::provision
