// Why nodes of a cluster do not run, and the command that helps.
#pragma once

#include <cstdint>
#include <string>

#include "base/names.hpp"
#include "state/model.hpp"
#include "state/store.hpp"

namespace fastgpu::cli {

/// Whether the last change of a cluster goes on in another process.
enum class ClusterChange : std::uint8_t { in_progress, interrupted };

/// Returns in_progress if a process holds the cluster's lock. This process must not hold it.
ClusterChange change_of(const state::Store& store, const ClusterName& cluster);

/// Returns why the whole cluster has no nodes to use, with a remedy; empty if it is neither being
/// created nor being deleted.
std::string absence_of(const state::Cluster& cluster, ClusterChange change);

/// Returns why a node that does not run is absent, with a remedy: "demo-0 is stopped: start it
/// with: fastgpu start cluster demo".
std::string absence_of(const state::Cluster& cluster, const state::Node& node,
                       ClusterChange change);

}  // namespace fastgpu::cli
