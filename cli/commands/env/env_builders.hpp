// What is needed to build an environment: the builder's programs, and the files of every
// environment.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/commands/env/index_options.hpp"
#include "cli/program/context.hpp"
#include "envs/environments/installation.hpp"

namespace fastgpu::cli {

/// The values of --uv, --py-rattler, --python-mirror, --python-table, --index-timeout,
/// --index-credentials, --fetch and --fetch-host.
struct BuilderOptions {
  std::string uv;
  std::string python_mirror;
  std::string python_table;
  std::string py_rattler;
  std::optional<std::chrono::milliseconds> index_timeout{};
  IndexOptions index;
  std::string fetch;
  std::vector<std::string> fetch_hosts;
};
void describe_builder_options(Arguments& arguments, BuilderOptions& options);

/// Returns the Pythons that can be installed on nodes that lack one. Throws as Document::read()
/// does.
std::vector<envs::KnownPython> known_pythons(const BuilderOptions& options);

/// Sets the fields of `request` from the options: the toolbox, the timeout, and the logins of
/// indexes. The toolbox is created in the scratch directory of `request` when it is needed.
void use_builder_options(Context& context, const BuilderOptions& options,
                         envs::InstallationRequest& request);

}  // namespace fastgpu::cli
