// One requirement in the form of env.yaml and requirements.txt: a package, and the permitted files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::envs {

struct Requirement {
  /// The requirement without options: "beta==1.0; python_version > '3.8'".
  std::string text;
  std::string project;                ///< "beta", normalised.
  std::vector<std::string> hashes{};  ///< The SHA-256 of the permitted files; empty: all.
  std::string wheel{};                ///< The path of a wheel on this machine, or empty.
  std::string url{};                  ///< The address of a wheel, or empty.
  std::string extras{};               ///< Of a wheel on this machine: "[cuda]", or empty.
  std::string marker{};               ///< Likewise: "; python_version > '3.8'", or empty.

  /// Returns the requirement with that place of its wheel: "beta[cuda] @ file:///srv/beta.whl".
  std::string at(const std::string& place) const;
};

/// Reads "beta==1.0", "beta @ https://host/beta-1.0-py3-none-any.whl#sha256=...", or a wheel here:
/// "./dist/beta-1.0-py3-none-any.whl", "beta @ file:///home/ann/beta-1.0-py3-none-any.whl". Throws
/// ErrorKind::usage for an option other than --hash=sha256:..., which pip would obey and a solver
/// here would not, and for a path that is not a wheel.
Requirement parse_requirement(std::string_view line);

/// Throws ErrorKind::usage, showing the part, if what follows the name of the package is not a list
/// of comparisons that pip and uv read, such as ">=2, <3". Conda has another syntax.
void check_comparisons(const Requirement& requirement);

}  // namespace fastgpu::envs
