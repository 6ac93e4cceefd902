// pylock.toml (PEP 751), as far as uv writes it when it solves and reads it when it installs.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// The wheels in uv's answer, and of the packages in `sources`, normalised names, the source where
/// that has no wheel for one. Throws ErrorKind::remote, naming the package, where one has nothing
/// of this with an address and a SHA-256.
std::vector<Artefact> read_pylock(const std::string& text,
                                  const std::vector<std::string>& sources = {});

/// For uv to install exactly these. With `build_tools` a source is another one: see
/// agent/environments/earlier_packages.hpp.
std::string write_pylock(const std::vector<Artefact>& artefacts,
                         const std::vector<Artefact>& build_tools = {});

}  // namespace fastgpu::envs
