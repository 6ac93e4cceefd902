// The unit of systemd that runs the guard. Pure.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns the text of the unit, which starts `program` with the home directory `home`. Both may
/// have any bytes that a path has.
std::string guard_unit(std::string_view home, std::string_view program);

}  // namespace fastgpu::agent
