// Requirements for conda packages on the building node, shared by launcher and agent.
#pragma once

#include <string_view>

namespace fastgpu::agent {

/// The oldest CPython for py-rattler's wheels, which also work with all later ones.
inline constexpr std::string_view kPythonOfRattler = "3.10";

}  // namespace fastgpu::agent
