// The requirements of building an environment: the builder's programs, and the files of every
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
/// --index-credentials, --fetch, --fetch-host.
struct BuilderOptions {
  std::string uv;
  std::string python_mirror;
  std::string python_table;
  std::string py_rattler;
  std::optional<std::chrono::milliseconds> patience{};
  IndexOptions index;
  std::string fetch;
  std::vector<std::string> fetch_hosts;
};
void describe_builder_options(Arguments& arguments, BuilderOptions& options);

/// Returns the Pythons for nodes that lack one. Throws as Document::read.
std::vector<envs::KnownPython> known_pythons(const BuilderOptions& options);

/// Sets the request's fields from the options of building: the toolbox, the patience, and the
/// logins of indexes. The toolbox is made in the request's scratch directory if it is wanted.
void use_builder_options(Context& context, const BuilderOptions& options,
                         envs::InstallationRequest& request);

}  // namespace fastgpu::cli
