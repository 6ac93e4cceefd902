// What a node needs for building environments, on its way there.
#pragma once

#include "envs/environments/installation.hpp"

namespace fastgpu::envs {

/// Copies the toolbox to a node that has none like it.
void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status);

}  // namespace fastgpu::envs
