// Solves requirements by uv, with wheels except for packages that may be built from source.
#pragma once

#include <string>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

struct UvSolution {
  std::string packages;     ///< pylock.toml
  std::string build_tools;  ///< A pylock.toml; empty if nothing is built.
};

/// Solves the request. A package that may be built is taken from source only if wheels lead to no
/// solution; then its own code runs to determine its requirements. A pre-release that no
/// requirement names is no solution for a package that has releases. Throws as Uv::run(), naming
/// the package that `sources` would have to list.
UvSolution solve_by_uv(const Uv& uv, const SolveRequest& request, const std::string& python,
                       const Listener& listener);

/// Solves the request's wheels into an environment that has packages already, at `python`. Returns
/// a pylock.toml of those that are missing there; empty if none is. Throws remote, with their
/// names, if installed packages would have to be replaced, and as Uv::run.
std::string solve_beside(const Uv& uv, const SolveRequest& request, const std::string& python,
                         const Listener& listener);

}  // namespace fastgpu::agent
