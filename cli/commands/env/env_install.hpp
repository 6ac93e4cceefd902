// Installs an environment on a cluster and shows the result.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/commands/env/env_builders.hpp"
#include "cli/commands/env/env_needs.hpp"
#include "cli/commands/env/env_tools.hpp"

namespace fastgpu::cli {

struct EnvironmentChoice {
  envs::EnvironmentSpec spec;
  std::optional<envs::EnvironmentLock> lock{};
  /// The archive that the lock is from. Then nothing is built.
  std::optional<envs::EnvironmentArchive> archive{};
};

/// The options of an installation.
struct EnvInstallOptions {
  BuilderOptions building;
  NeedsOptions needs;
  std::string rate;  ///< The maximum rate of copies to other nodes, as text; empty for no limit.
  bool upgrade = false;
  bool dry_run = false;
};
void describe_install_options(Arguments& arguments, EnvInstallOptions& options);
/// Adds only --limit-rate and --dry-run.
void describe_copy_options(Arguments& arguments, EnvInstallOptions& options);

/// Reads env.yaml, a lock, or conda's environment.yml, which is translated to an env.yaml. Throws
/// as Document::read() and envs::conda_file_as_yaml() do.
config::Document read_environment_file(const std::string& file);

/// Reads a lock from a file. Throws as Document::read() and parse_lock() do.
envs::EnvironmentLock read_lock_file(const std::filesystem::path& file);

/// The source of the Python version for an environment that is made from a matrix name.
enum class PythonOf : std::uint8_t { name, spec };

/// Replaces `spec.from` by a complete name of the matrix that can be installed. A missing
/// accelerator is chosen for the nodes of `cluster`, with `assumed_gpus` if that is not empty.
/// Throws usage for an impossible name, and for a name without an accelerator if `cluster` is null.
void complete_from(Context& context, const EnvCluster* cluster, const std::string& assumed_gpus,
                   PythonOf python, envs::EnvironmentSpec& spec);

/// Installs the environment and its needs, shows the result, and records the prefix. A dry run only
/// shows the steps for each node; nodes with equal steps share a row. Returns the exit code.
int install_environment(Context& context, EnvCluster& cluster, const EnvironmentChoice& choice,
                        const EnvInstallOptions& options);

}  // namespace fastgpu::cli
