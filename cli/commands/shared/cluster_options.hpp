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
/// unfinished operations of earlier runs.
provision::Tools tools_for(Context& context, const ClusterOptions& options);

/// Performs an operation on a cluster. Calls of a cloud that fail are not repeated after
/// `deadline`; the removals after a failure are.
template <class Operation>
auto in_time(Context& context, Clock::time_point deadline, Operation operation) {
  const provision::cloud::RetryDeadline retries(context.retry_limit(), deadline);
  return operation();
}

/// Shows the state of the cluster after an operation.
void show_cluster(Context& context, const provision::ClusterView& view);

}  // namespace fastgpu::cli
