// Requirements solved by uv: wheels, but for packages that may be built from source.
#pragma once

#include <string>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

struct UvSolution {
  std::string packages;     ///< pylock.toml
  std::string build_tools;  ///< Likewise; empty where nothing is built.
};

/// A package that the request allows to be built is taken from source where its wheels do not lead
/// to a solution, and only then: to learn what it requires its own code is run. Throws as Uv::run,
/// saying which package `sources` would have to name.
UvSolution solve_by_uv(const Uv& uv, const SolveRequest& request, const std::string& python,
                       const Listener& listener);

}  // namespace fastgpu::agent
