// pylock.toml (PEP 751), as far as uv writes it when it solves and reads it when it installs.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// The wheels in uv's answer. Throws ErrorKind::remote, naming the package, where one has no wheel
/// with an address and a SHA-256.
std::vector<Artefact> read_pylock(const std::string& text);

/// For uv to install exactly these.
std::string write_pylock(const std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
