// The part of a cluster that only its provider understands: what was requested, and the shared
// resources that it has.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.hpp"
#include "state/cloud_spec.hpp"
#include "state/static_hosts.hpp"

namespace fastgpu::state {

struct LocalSpec {
  std::optional<BitRate> link_rate{};  ///< The limit of each node's network; absent: no limit.
};

struct StaticSpec {
  std::vector<StaticHost> hosts{};
};

/// The provider's part of the request: that of the provider "local", of "static", or of a cloud.
using ProviderSpec = std::variant<LocalSpec, StaticSpec, CloudSpec>;

/// The network of a cluster outside clouds.
struct HostNetwork {
  std::string range{};  ///< "10.64.1.0/24"
};

/// The provider's resources for the whole cluster; nothing until they are made.
using Network = std::variant<std::monostate, HostNetwork, CloudPlacement>;

}  // namespace fastgpu::state
