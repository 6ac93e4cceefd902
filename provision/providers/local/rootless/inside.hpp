// Work done inside a world, by a process of its own.
#pragma once

#include <functional>
#include <string>

#include "base/cancel.hpp"
#include "provision/providers/local/rootless/world.hpp"

namespace fastgpu::provision::local {

/// Runs `work` in a copy of this process that is root of the world, and returns its result or
/// throws its Error. Its Cancel follows `cancel`. The copy dies with this process. May be called
/// only from a process with one thread. Changes of memory by `work` are not visible here.
std::string run_inside(const RootlessWorld& world,
                       const std::function<std::string(const Cancel&)>& work, const Cancel& cancel);

}  // namespace fastgpu::provision::local
