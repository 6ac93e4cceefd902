// The access to existing hosts, which is opened for a cluster's key and closed again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "state/model.hpp"

namespace fastgpu::provision {

/// One host. The node's `identity_file` is the user's own key, which is used until the cluster's
/// key is accepted.
struct HostLogin {
  state::Node node;
  std::string mark;  ///< The last word of our line there: unique on that host.
};

struct Granted {};

/// The identity of a host for its user. Equal texts are the same machine, network, user and home
/// directory, also if their addresses differ.
struct HostIdentity {
  std::string text{};  ///< Empty: unknown.
};

/// The access to hosts. Every connection checks the host key that the node has pinned, and uses the
/// node's jump hosts. The functions return one outcome for each host, in order, and never throw for
/// one. They may be repeated after a kill at any instant.
class HostAccess {
 public:
  using Outcomes = std::vector<HostResult<Granted>>;
  using Identities = std::vector<HostResult<HostIdentity>>;

  virtual ~HostAccess() = default;

  /// Checks whether `open` would succeed there. Changes nothing in use by others.
  virtual Identities check(const state::Cluster& cluster, std::span<const HostLogin> logins,
                           const Cancel& cancel) = 0;

  /// Asks hosts on which the cluster's key is accepted for their identities, and uses that key.
  virtual Identities identify(const state::Cluster& cluster, std::span<const HostLogin> logins,
                              const Cancel& cancel) = 0;

  /// Adds the line "<public key> <mark>" to the user's authorised keys, once.
  virtual Outcomes open(const state::Cluster& cluster, std::span<const HostLogin> logins,
                        const std::string& public_key, const Cancel& cancel) = 0;

  /// Removes that line, over a connection with the cluster's key or, if that is not accepted any
  /// more, with the user's. Succeeds if the line is gone already. Cannot be cancelled, and gives up
  /// on a host after a minute.
  virtual Outcomes close(const state::Cluster& cluster, std::span<const HostLogin> logins) = 0;
};

}  // namespace fastgpu::provision
