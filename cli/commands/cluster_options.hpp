// What the commands that change a cluster have in common.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "cli/context.hpp"
#include "provision/observe.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

struct ClusterOptions {
  std::string name;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> wait;
};

/// How long an operation may take where nobody says otherwise.
inline constexpr std::chrono::minutes kUsualTimeout{10};

/// NAME, which is returned, --timeout and --wait.
Argument& describe_cluster_options(Arguments& arguments, ClusterOptions& options);
/// --timeout and --wait alone.
void describe_limits(Arguments& arguments, ClusterOptions& options);

/// The tools for one operation under the limits of `options`; what earlier runs left open is
/// settled first.
provision::Tools tools_for(Context& context, const ClusterOptions& options);

/// Shows what an operation left of the cluster.
void show_cluster(Context& context, const provision::ClusterView& view);

}  // namespace fastgpu::cli
