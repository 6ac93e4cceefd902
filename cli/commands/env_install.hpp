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
};

/// A lock from a file. Throws as Document::read and parse_lock.
envs::EnvironmentLock read_lock_file(const std::filesystem::path& file);

/// The steps of each node, nodes with equal steps on one line.
int show_env_plan(Context& context, EnvCluster& cluster, const EnvWish& wish,
                  const NeedsOptions& options);

/// Installs it and what it needs beside itself, shows what was done, and remembers where.
int install_environment(Context& context, EnvCluster& cluster, const EnvWish& wish,
                        const BuilderOptions& building, const NeedsOptions& options);

}  // namespace fastgpu::cli
