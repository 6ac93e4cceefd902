// Finds entries of a static cluster that are two names of the same host.
#pragma once

#include <span>
#include <string>

#include "provision/providers/static/host_access.hpp"

namespace fastgpu::provision {

/// A host of the cluster's file and the identity that it reported.
struct IdentifiedHost {
  std::string place;  ///< The host as messages name it: "gpu-a root@192.0.2.10 port 22".
  HostIdentity identity{};
};

/// Throws ErrorKind::usage, naming both, if two of the hosts have the same identity. Ignores hosts
/// without an identity. Pure.
void require_different_hosts(std::span<const IdentifiedHost> hosts);

}  // namespace fastgpu::provision
