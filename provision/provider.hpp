// What fastgpu asks of a place that has machines. One implementation per place lives in
// provision/providers/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "base/money.hpp"
#include "base/secret.hpp"
#include "base/units.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"

namespace fastgpu::provision {

enum class InstanceState : std::uint8_t { pending, running, stopped, gone };

/// How the host keys that are made here for new nodes are used.
enum class HostKeyUse : std::uint8_t {
  one_a_node,  ///< Each node has its own, for good.
  /// Nodes that are made together boot with one, which they may not keep: others could read it.
  first_boot,
};

/// One node as it is wanted. Repeating a request with the same token yields the same machine.
struct NodeRequest {
  int index = 0;
  NodeName name;
  std::string token;
  Secret host_private_key;  ///< OpenSSH text; the node's sshd shows this key from its first second.
  std::string host_public_key;
  std::string authorized_key;  ///< Who may log in: "ssh-ed25519 AAAA...".
  bool may_be_there = true;    ///< Whether it may have been asked for before.
  /// Whether it is of no use without the others of the same call: a place that can give all or
  /// nothing is asked for that, so that no machine is paid for in vain.
  bool all_or_nothing = false;
  std::string instance_id{};  ///< The machine that is on record for it; empty: none is.
};

struct Instance {
  int index = 0;
  std::string id;     ///< The provider's own name for it.
  std::string token;  ///< Under which it was asked for.
  InstanceState state = InstanceState::pending;
  std::string address{};          ///< Where SSH answers; empty until assigned.
  std::string private_address{};  ///< Where the other nodes reach it.
  std::uint16_t port = 22;
  /// Of a machine that is gone: what of ours stays there all the same, in a sentence that
  /// names it.
  std::string left_behind{};
  /// Of a machine that another state directory has taken over: "state directory 1a2b3c4d (on
  /// laptop, 2026-11-22 07:18:00Z)"; empty: it is ours.
  std::string owner{};
};

/// Something that carries our marks and that no cluster we know of owns.
struct Orphan {
  std::string kind;  ///< "bridge", "instance", "directory", ...
  std::string id;
  state::ClusterId cluster;  ///< The identity written on it.
};

struct Orphans {
  std::vector<Orphan> found{};
  std::vector<Error> failures{};  ///< Why some places could not be asked; each names its place.
};

/// A provider keeps nothing between calls: `state::Cluster` says what was wished (spec_json) and
/// `list` finds what there is. Every call may be repeated after a kill at any instant.
class Provider {
 public:
  virtual ~Provider() = default;

  virtual std::string_view name() const noexcept = 0;  ///< What users write after --provider.

  virtual HostKeyUse host_key_use() const noexcept { return HostKeyUse::one_a_node; }

  /// Throws, with the reason and the way out, if this place cannot be used by us now. Changes
  /// nothing: a dry run asks it, too.
  virtual void check_usable() = 0;

  /// Says of a node what this place knows before it is asked for: its name, user, slots, keys where
  /// they differ from the cluster's. The default knows nothing. Throws ErrorKind::usage where the
  /// place can have no node of that index.
  virtual void describe_node(const state::Cluster& /*cluster*/, state::Node& /*node*/) const {}

  /// The indexes that `count` further nodes get. The default gives those from `next` on, which no
  /// node ever had. Throws ErrorKind::usage where the place has no room for so many.
  virtual std::vector<int> new_indexes(const state::Cluster& cluster,
                                       std::span<const state::Node> present, int next,
                                       int count) const;

  /// Throws where one of these nodes, described but not written down yet, cannot be had. The
  /// default leaves that to `create`.
  virtual void check_nodes(const state::Cluster& /*cluster*/,
                           std::span<const state::Node> /*nodes*/, const Cancel& /*cancel*/) {}

  /// How the cluster that is there differs from one made from `wanted`, another spec_json: "with
  /// link rate 1gbit, not 300mbit"; empty where it does not.
  virtual std::string difference(const state::Cluster& there, const std::string& wanted) const;

  /// Writes the cluster's name, which is another now, on what carries it. The default writes it on
  /// nothing. May be repeated.
  virtual void rename(const state::Cluster& /*cluster*/, const Cancel& /*cancel*/) {}

  /// Makes what the nodes share (a bridge, a network, ...) or finds it made, where it
  /// `may_be_there` already; returns the text to keep in Cluster::network.
  virtual std::string prepare(const state::Cluster& cluster, bool may_be_there) = 0;

  /// What every node of the cluster is to have beside its system disk; the default has nothing.
  virtual Storage storage(const state::Cluster& /*cluster*/) const { return {}; }

  /// How many places were planned for a cluster, the best first, and at which of them it is.
  struct Places {
    std::size_t count = 1;
    std::size_t here = 0;
  };
  virtual Places places(const state::Cluster& /*cluster*/) const { return {}; }

  /// What Cluster::network is to be before the first `prepare` at one of the places.
  virtual std::string network_at(const state::Cluster& /*cluster*/, std::size_t /*place*/) const {
    return {};
  }

  /// False where several machines asked for at once are had together or not at all.
  virtual bool gives_parts() const noexcept { return true; }

  /// Whether a machine that was asked for may be listed only some time later.
  virtual bool lists_late() const noexcept { return false; }

  /// Of one machine where the cluster is, in the place's currency; absent where it is not known.
  virtual std::optional<Money> price_per_hour(const state::Cluster& /*cluster*/) const {
    return std::nullopt;
  }

  /// Asks for machines, all at once where the place can do that; returns without waiting for SSH.
  virtual std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                                   std::span<const NodeRequest> requests,
                                                   const Cancel& cancel) = 0;

  /// Every machine of `cluster` that still takes room or money, by index.
  virtual std::vector<Instance> list(const state::Cluster& cluster) = 0;

  virtual std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                                  std::span<const state::Node> nodes,
                                                  const Cancel& cancel) = 0;
  virtual std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                                 std::span<const state::Node> nodes,
                                                 const Cancel& cancel) = 0;

  /// Ends machines for good, with what is on them. One that is gone already is a success. A node
  /// without `instance_id` was asked for and never heard of again: it is found by its token.
  virtual std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                                    std::span<const state::Node> nodes) = 0;

  /// Ends what machines are left, nobody's too, waits until they are gone and takes back what
  /// `prepare` made. Succeeds where nothing is left.
  virtual void release(const state::Cluster& cluster) = 0;

  /// What carries our marks but belongs to none of `known`; `remove_orphan` deletes one such thing.
  virtual Orphans orphans(std::span<const state::ClusterId> known) = 0;
  virtual void remove_orphan(const Orphan& orphan) = 0;
};

}  // namespace fastgpu::provision
