// The places of a job's ranks on parts of nodes: --per.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"
#include "base/names.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {

/// Asks the nodes of a job with --per for their topologies, which the target then has, and lets
/// each have as many ranks as it has places for them. Throws usage for a node without a place, or
/// with fewer slots than the ranks that it would get.
void read_topologies(Context& context, RemoteTarget& target, const launcher::JobSpec& spec);

/// Returns the error of a job whose ranks get a `unit` of a node each: `without` are the nodes of
/// the cluster that have none, `with` the others.
Error no_places(launcher::RankUnit unit, const ClusterName& cluster,
                std::span<const std::string> without, std::span<const std::string> with);

}  // namespace fastgpu::cli
