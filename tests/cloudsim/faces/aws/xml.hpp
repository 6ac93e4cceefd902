// EC2's XML answers.
#pragma once

#include <string>

#include "cloudsim/world/model.hpp"

namespace fastgpu::cloudsim::aws {

/// <root xmlns="...">fields</root>: an object becomes children, an array a list of <item>s.
std::string to_xml(const std::string& root, const std::string& name_space, const Json& fields);

}  // namespace fastgpu::cloudsim::aws
