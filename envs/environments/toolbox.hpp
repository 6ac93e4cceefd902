// The tools with which a node builds environments.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/environment.hpp"
#include "envs/environments/nodes.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::envs {

/// A file or a directory here, and its destination.
struct PlacedFile {
  std::filesystem::path source;
  std::filesystem::path place;  ///< Relative: to the toolbox, or to each environment.
};

/// The tools for building on a node: a builder's programs, and the files for every environment. Its
/// directory there is named by its hash.
struct Toolbox {
  std::vector<PlacedFile> files{};  ///< Files only, no directories.
  std::string hash{};
  /// The environment's Python, whose content is among the files.
  std::optional<PythonArchive> python{};
};

Toolbox make_toolbox(std::span<const PlacedFile> tools, std::span<const PlacedFile> common);
/// Writes the toolbox to a directory here.
void lay_out(const Toolbox& toolbox, const std::filesystem::path& directory);
/// Returns the path in a toolbox, here or on a node, of the files for every environment.
std::filesystem::path common_in(const std::filesystem::path& toolbox);

/// Copies the toolbox to a node that has a place for it but no equal one; it is put together in
/// `scratch`.
void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status, const std::filesystem::path& scratch);

}  // namespace fastgpu::envs
