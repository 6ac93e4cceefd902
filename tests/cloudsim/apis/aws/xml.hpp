// XML answers of EC2.
#pragma once

#include <string>

#include "cloudsim/world/cloud_model.hpp"

namespace fastgpu::cloudsim::aws {

/// Returns <root xmlns="...">fields</root>. An object becomes children, an array a list of <item>s.
std::string to_xml(const std::string& root, const std::string& name_space, const Json& fields);

}  // namespace fastgpu::cloudsim::aws
