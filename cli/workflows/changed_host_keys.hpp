// The hosts of a static cluster that show another key than the pinned one: they were installed
// anew, or another machine answers in their place.
#pragma once

#include "base/names.hpp"
#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Finds the listed hosts of a static cluster, with and without a node now, that show another key
/// than the pinned one, and pins their present keys: those of the user's known_hosts, else those
/// that the hosts show. Reports each with both fingerprints. Then the user's own key opens the
/// hosts to the cluster again, because a host that was installed anew has forgotten the cluster's
/// key. Changes no other host. Throws, and changes nothing here, if one of these hosts refuses the
/// login. Throws usage for a cluster of another provider.
void pin_changed_host_keys(Services& services, const provision::Tools& tools,
                           const ClusterName& name);

}  // namespace fastgpu::cli
