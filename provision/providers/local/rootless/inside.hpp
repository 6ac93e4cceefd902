// Work done inside a world, by a process of its own.
#pragma once

#include <functional>
#include <string>

#include "base/cancel.hpp"
#include "provision/providers/local/rootless/world.hpp"

namespace fastgpu::provision::local {

/// Runs `work` in a copy of this process that is root of the world, and returns what it returned
/// or throws the Error that it threw. Its Cancel follows `cancel`. The copy dies with us. Only from
/// a process with one thread; nothing that `work` changes in memory is seen here.
std::string run_inside(const World& world, const std::function<std::string(const Cancel&)>& work,
                       const Cancel& cancel);

}  // namespace fastgpu::provision::local
