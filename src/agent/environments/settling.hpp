// Decides files that several packages of a build have with different content.
#pragma once

#include <filesystem>
#include <string>

#include "agent/environments/builder.hpp"
#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

/// Installs the wheels of `pylock` that share such files again, by name: the file of the last one
/// stays, in any order of installation. A wheel's file replaces that of a package that is not in
/// `pylock`. Throws as PackageBuilder::settle.
SettledFiles settle_wheels(const Uv& uv, const std::string& pylock,
                           const std::string& python_version, const std::filesystem::path& version,
                           Listener& listener);

}  // namespace fastgpu::agent
