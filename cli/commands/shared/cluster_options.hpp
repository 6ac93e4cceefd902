// Options that all commands share that change a cluster.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/services.hpp"
#include "provision/cloud/retry_limit.hpp"
#include "provision/observe.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

struct ClusterOptions {
  std::string name;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> wait;
};

/// Adds NAME, --timeout and --wait. Returns NAME.
Argument& describe_cluster_options(Arguments& arguments, ClusterOptions& options);
/// Adds only --timeout and --wait.
void describe_limits(Arguments& arguments, ClusterOptions& options);

/// Returns the tools for one operation, with the limits of `options`. Before that, settles the
/// unfinished operations of earlier runs. To be used in with_tools() or in_time(): else a cloud's
/// calls are repeated after the time limit.
provision::Tools tools_for(Context& context, const ClusterOptions& options);

/// Performs an operation on a cluster. Calls of a cloud that fail are not repeated after
/// `deadline`; the removals after a failure are.
template <class Operation>
auto in_time(Context& context, Clock::time_point deadline, Operation operation) {
  const provision::cloud::RetryDeadline retries(context.retry_limit(), deadline);
  return operation();
}

/// Performs an operation on a cluster with the tools and the limits of `options`.
template <class Operation>
auto with_tools(Context& context, const ClusterOptions& options, Operation operation) {
  const provision::Tools tools = tools_for(context, options);
  return in_time(context, tools.deadline, [&] { return operation(tools); });
}

/// Shows the state of the cluster after an operation.
void show_cluster(Context& context, const provision::ClusterView& view);

}  // namespace fastgpu::cli
