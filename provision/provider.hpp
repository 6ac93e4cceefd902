// The interface of a place that has machines. Each place has one implementation in
// provision/providers/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "base/ip.hpp"
#include "base/money.hpp"
#include "base/secret.hpp"
#include "base/units.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"

namespace fastgpu::provision {

enum class InstanceState : std::uint8_t { pending, running, stopped, gone };

/// The use of the host keys that are made here for new nodes.
enum class HostKeyUse : std::uint8_t {
  one_a_node,  ///< Each node has its own host key for good.
  /// Nodes that are made together boot with one shared host key, which is replaced afterwards
  /// because others could read it.
  first_boot,
};

/// The requirements of one node. A repeated request with the same token yields the same machine.
struct NodeRequest {
  int index = 0;
  NodeName name;
  std::string token;
  Secret host_private_key;  ///< OpenSSH text; the node's sshd shows this key from its first second.
  std::string host_public_key;
  std::string authorized_key;  ///< The key that may log in: "ssh-ed25519 AAAA...".
  bool may_be_there = true;    ///< True if an earlier run may have requested it.
  /// True if it is useless without the other requests of the same call. A place that can give all
  /// or nothing is asked for that, so that no machine is paid for in vain.
  bool all_or_nothing = false;
  std::string instance_id{};  ///< The machine on record for the node; empty: unknown.
};

struct Instance {
  int index = 0;
  std::string id;     ///< The provider's identity for the machine.
  std::string token;  ///< The token of the request.
  InstanceState state = InstanceState::pending;
  std::string address{};          ///< The address of SSH; empty until assigned.
  std::string private_address{};  ///< The address that other nodes use.
  std::uint16_t port = 22;
  /// The resource of ours that a removed machine left behind, as a sentence that names it.
  std::string left_behind{};
  /// The owner, if another state directory has taken the machine over: "anna@laptop on
  /// 2026-11-22 at 07:18 UTC (state directory 1a2b3c4d)". Empty if the machine is ours.
  std::string owner{};
};

/// The time limits of the removal of a cluster's shared parts.
struct ReleaseLimits {
  /// The time for everything. The release throws timeout afterwards.
  std::chrono::milliseconds in_all = std::chrono::milliseconds::max();
  /// The time for a network that is still in use after the last machine has ended. A machine's
  /// interface may stay for a while. 0: the network is tried once.
  std::chrono::milliseconds network = std::chrono::minutes(2);
};

/// A resource with our marks that belongs to no known cluster.
struct Orphan {
  enum class Kind : std::uint8_t { instance, network, image, folder, process, bridge };
  Kind kind;
  std::string id;
  state::ClusterId cluster;  ///< The identity in its marks.
  std::string region{};      ///< Empty if the provider has no regions.
};

/// Returns "instance us-east-1/i-0a1b", or "bridge fg-1" without a region.
std::string to_text(const Orphan& orphan);

struct Orphans {
  std::vector<Orphan> found{};
  /// The failures of places that could not be asked; each names its place.
  std::vector<Error> failures{};
  /// The reason why the provider was not asked at all: it lacks credentials. Only a failure if
  /// something of it is on record.
  std::optional<Error> not_asked{};
};

/// A place that has machines. A provider keeps nothing between calls: `state::Cluster` has the
/// request, and `list` returns the machines. Every call may be repeated after a kill at any
/// instant.
class Provider {
 public:
  virtual ~Provider() = default;

  virtual std::string_view name() const noexcept = 0;  ///< The value of --provider.

  virtual HostKeyUse host_key_use() const noexcept { return HostKeyUse::one_a_node; }

  /// Throws, with the reason and a remedy, if this place cannot be used by us now. Changes nothing:
  /// a dry run calls it, too.
  virtual void check_usable() = 0;

  /// Fills in the facts about a node that this place knows before the request: its name, user and
  /// slots, and keys that differ from the cluster's. The default changes nothing. Throws
  /// ErrorKind::usage if the place can have no node of that index.
  virtual void describe_node(const state::Cluster& /*cluster*/, state::Node& /*node*/) const {}

  /// Returns the indexes of `count` further nodes: the lowest ones that are not `taken`. Throws
  /// ErrorKind::usage if the place has no room for so many.
  virtual std::vector<int> new_indexes(const state::Cluster& cluster, const std::set<int>& taken,
                                       int count) const;

  /// Throws if one of these nodes, described but not recorded yet, is not available, or is the same
  /// machine as another one of them or of `present`, the cluster's nodes so far. The default leaves
  /// that to `create`.
  virtual void check_nodes(const state::Cluster& /*cluster*/,
                           std::span<const state::Node> /*nodes*/,
                           std::span<const state::Node> /*present*/, const Cancel& /*cancel*/) {}

  /// Returns the difference of the existing cluster from one made from another request: "with link
  /// rate 1gbit, not 300mbit". Empty if they agree. `wanted` is the part of this provider.
  virtual std::string difference(const state::Cluster& there,
                                 const state::ProviderSpec& wanted) const = 0;

  /// Writes the cluster's new name to the resources that carry it. The default does nothing. May be
  /// repeated.
  virtual void rename(const state::Cluster& /*cluster*/, const Cancel& /*cancel*/) {}

  /// Makes the shared parts of the nodes (a bridge, a network, ...), or finds them if they
  /// `may_be_there` already. Returns the value for Cluster::network.
  virtual state::Network prepare(const state::Cluster& cluster, bool may_be_there) = 0;

  /// Returns the ranges that may log in to the nodes now. The default is empty: the place does not
  /// filter addresses.
  virtual std::vector<IpRange> open_ranges(const state::Cluster& /*cluster*/,
                                           const Cancel& /*cancel*/) {
    return {};
  }

  /// Lets these ranges log in to the nodes no longer. Succeeds for ranges that may not log in.
  virtual void close_ranges(const state::Cluster& /*cluster*/, std::span<const IpRange> /*ranges*/,
                            const Cancel& /*cancel*/) {}

  /// Returns the storage of every node beside its system disk. The default is empty.
  virtual Storage storage(const state::Cluster& /*cluster*/) const { return {}; }

  /// The number of places planned for a cluster, the best first, and the index of its present
  /// place.
  struct Places {
    std::size_t count = 1;
    std::size_t here = 0;
  };
  virtual Places places(const state::Cluster& /*cluster*/) const { return {}; }

  /// Returns the value of Cluster::network before the first `prepare` at `place`.
  virtual state::Network network_at(const state::Cluster& /*cluster*/,
                                    std::size_t /*place*/) const {
    return {};
  }

  /// Returns false if several machines requested at once are given together or not at all.
  virtual bool gives_parts() const noexcept { return true; }

  /// Returns true if a requested machine may be listed only some time later.
  virtual bool lists_late() const noexcept { return false; }

  /// Returns the price of one machine at the cluster's place, in that place's currency; absent if
  /// it is unknown.
  virtual std::optional<Money> price_per_hour(const state::Cluster& /*cluster*/) const {
    return std::nullopt;
  }

  /// Requests machines, all at once if the place can do that. Returns without waiting for SSH.
  virtual std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                                   std::span<const NodeRequest> requests,
                                                   const Cancel& cancel) = 0;

  /// Returns every machine of `cluster` that still takes room or costs money, by index. `cancel`
  /// ends the call, as the command's time limit does if it is the command's cancel. A clean-up
  /// after a change passes a cancel of its own, which is never requested.
  virtual std::vector<Instance> list(const state::Cluster& cluster, const Cancel& cancel) = 0;

  virtual std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                                  std::span<const state::Node> nodes,
                                                  const Cancel& cancel) = 0;
  virtual std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                                 std::span<const state::Node> nodes,
                                                 const Cancel& cancel) = 0;

  /// Ends machines for good, with their data. Succeeds for a machine that is gone already. A node
  /// without `instance_id` is found by its token: its request has never been answered.
  virtual std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                                    std::span<const state::Node> nodes) = 0;

  /// Ends all remaining machines of the cluster, including those that no node owns, waits until
  /// they are gone, and undoes `prepare`. Succeeds if nothing is left. Returns the refusal if all
  /// machines are gone and only the network is left, because something else uses it.
  virtual std::optional<Error> release(const state::Cluster& cluster,
                                       const ReleaseLimits& limits) = 0;

  /// Returns resources with our marks that belong to none of the `known` clusters. `remove_orphan`
  /// deletes one of them.
  virtual Orphans orphans(std::span<const state::ClusterId> known) = 0;
  virtual void remove_orphan(const Orphan& orphan) = 0;
};

}  // namespace fastgpu::provision
