// pylock.toml (PEP 751), as far as uv writes it after solving and reads it for installing.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// Returns the wheels in uv's answer, and the sources of those packages in `sources` (normalised
/// names) that have no wheel. Throws ErrorKind::remote, naming the package, if one has neither with
/// an address and a SHA-256.
std::vector<Artefact> read_pylock(const std::string& text,
                                  const std::vector<std::string>& sources = {});

/// Returns a file with which uv installs exactly these. With `build_tools`, a source built with
/// other tools is another one: see agent/environments/earlier_packages.hpp.
std::string write_pylock(const std::vector<Artefact>& artefacts,
                         const std::vector<Artefact>& build_tools = {});

}  // namespace fastgpu::envs
