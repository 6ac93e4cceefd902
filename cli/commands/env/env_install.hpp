// The installation of an environment on a cluster, and its output for the user.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/commands/env/env_builders.hpp"
#include "cli/commands/env/env_needs.hpp"
#include "cli/commands/env/env_tools.hpp"

namespace fastgpu::cli {

struct EnvWish {
  envs::EnvironmentSpec spec;
  std::optional<envs::EnvironmentLock> lock{};
  /// The archive with that lock: nothing is built.
  std::optional<envs::EnvironmentArchive> archive{};
};

/// The settings of the installation.
struct InstallOptions {
  BuilderOptions building;
  NeedsOptions needs;
  std::string rate;  ///< The rate of a build's copies to other nodes, as text; empty: unlimited.
  bool upgrade = false;
  bool dry_run = false;
};
void describe_install_options(Arguments& arguments, InstallOptions& options);
/// Adds --limit-rate and --dry-run alone.
void describe_copy_options(Arguments& arguments, InstallOptions& options);

/// Reads env.yaml, a lock, or conda's environment.yml, which is translated to the same env.yaml.
/// Throws as Document::read and envs::conda_file_as_yaml.
config::Document read_environment_file(const std::string& file);

/// Reads a lock from a file. Throws as Document::read and parse_lock.
envs::EnvironmentLock read_lock_file(const std::filesystem::path& file);

/// The source of the Python for an environment that is made from a name of the matrix.
enum class PythonOf : std::uint8_t { name, spec };

/// Completes `from` to a name of the matrix with its accelerator, which can be installed. Without
/// an accelerator it gets that of the nodes, or of `assumed_gpus` there. Throws usage for an
/// impossible name, and for an open one without a cluster.
void complete_from(Context& context, const EnvCluster* cluster, const std::string& assumed_gpus,
                   PythonOf python, envs::EnvironmentSpec& spec);

/// Installs the environment and its needs, shows the result, and records the place. A dry run only
/// shows the steps of each node, nodes with equal steps on one line.
int install_environment(Context& context, EnvCluster& cluster, const EnvWish& wish,
                        const InstallOptions& options);

}  // namespace fastgpu::cli
