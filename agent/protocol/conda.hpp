// What installing conda packages takes on the node that builds, as launcher and agent know it.
#pragma once

#include <string_view>

namespace fastgpu::agent {

/// py-rattler's wheels are for every CPython from this one on.
inline constexpr std::string_view kPythonOfRattler = "3.10";

}  // namespace fastgpu::agent
