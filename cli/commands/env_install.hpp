// An environment made ready on a cluster, and what the user sees of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/commands/env_builders.hpp"
#include "cli/commands/env_needs.hpp"
#include "cli/commands/env_tools.hpp"

namespace fastgpu::cli {

struct EnvWish {
  envs::EnvironmentSpec spec;
  std::optional<envs::EnvironmentLock> lock{};
  std::optional<envs::EnvironmentArchive> archive{};  ///< Of that lock: nothing is built.
};

/// How it gets there.
struct InstallOptions {
  BuilderOptions building;
  NeedsOptions needs;
  std::string rate;  ///< Of a build that goes to other nodes, as text; empty: as fast as it can.
  bool upgrade = false;
  bool dry_run = false;
};
void describe_install_options(Arguments& arguments, InstallOptions& options);
/// --limit-rate and --dry-run alone.
void describe_copy_options(Arguments& arguments, InstallOptions& options);

/// Reads env.yaml, a lock, or conda's environment.yml, which comes as the env.yaml of the same.
/// Throws as Document::read and envs::conda_file_as_yaml.
config::Document read_environment_file(const std::string& file);

/// A lock from a file. Throws as Document::read and parse_lock.
envs::EnvironmentLock read_lock_file(const std::filesystem::path& file);

/// Which Python an environment gets that is made from a name of the matrix.
enum class PythonOf : std::uint8_t { name, spec };

/// Makes `from` what can be installed: a name of the matrix with its accelerator. One that leaves
/// it open gets that of the nodes, or of `assumed_gpus` there. Throws usage for what cannot be, and
/// for an open one without a cluster.
void complete_from(Context& context, const EnvCluster* cluster, const std::string& assumed_gpus,
                   PythonOf python, envs::EnvironmentSpec& spec);

/// Installs it and what it needs beside itself, shows what was done, and remembers where; or shows
/// the steps of each node alone, nodes with equal steps on one line.
int install_environment(Context& context, EnvCluster& cluster, const EnvWish& wish,
                        const InstallOptions& options);

}  // namespace fastgpu::cli
