// The hosts of the user's own that leave a cluster: logins there no longer get its environment, and
// what stays there is named.
#pragma once

#include <span>
#include <string>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Takes the cluster's active environment from the logins on nodes that leave the cluster but
/// continue to run, because no command reaches them afterwards. Warns of each node that does not
/// answer. Does nothing for other providers, whose machines go, and without an active environment.
void deactivate_on_leaving(Services& services, const state::Cluster& cluster,
                           std::span<const state::Node> nodes);

/// Returns a sentence on the environments, logs and programs that stay on the hosts after the
/// cluster is deleted, with the command that removes them there. Empty for other providers.
std::string rest_on_hosts(Services& services, const state::Cluster& cluster,
                          std::span<const state::Node> nodes);

}  // namespace fastgpu::cli
