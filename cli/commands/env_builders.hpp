// What building an environment takes: the builder's programs, and what every environment gets.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/commands/index_options.hpp"
#include "cli/context.hpp"
#include "envs/environments/installation.hpp"

namespace fastgpu::cli {

/// --uv, --py-rattler, --python-mirror, --python-table, --index-timeout, --index-credentials,
/// --fetch, --fetch-host.
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

/// For nodes that lack a Python. Throws as Document::read.
std::vector<envs::KnownPython> known_pythons(const BuilderOptions& options);

/// Fills in what the options say of building: the toolbox, made in the request's scratch directory
/// where it is asked for, the patience, and the logins of indexes.
void use_builder_options(Context& context, const BuilderOptions& options,
                         envs::InstallationRequest& request);

}  // namespace fastgpu::cli
