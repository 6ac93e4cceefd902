// The tools of the operations on clusters. All of them are borrowed from the caller.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/clock.hpp"
#include "base/host_result.hpp"
#include "base/key_pair.hpp"
#include "provision/provider.hpp"
#include "state/store.hpp"

namespace fastgpu::provision {

class KeyMaker {
 public:
  virtual ~KeyMaker() = default;
  virtual KeyPair make(std::string_view comment) = 0;
};

/// A node that has answered.
struct Reached {};

class Reachability {
 public:
  virtual ~Reachability() = default;

  /// Waits until each node accepts our login over SSH, with its pinned host key. Returns one
  /// outcome for each node: timeout after `deadline`, interrupted after a cancel. Never throws for
  /// a node. Calls `look` from time to time while nodes do not answer; its exception ends the wait.
  virtual std::vector<HostResult<Reached>> wait(const state::Cluster& cluster,
                                                std::span<const state::Node> nodes,
                                                Clock::time_point deadline, const Cancel& cancel,
                                                const std::function<void()>& look) = 0;
};

/// Work inside nodes that answer. Each call returns one outcome for each node, and may be repeated.
class NodeSetup {
 public:
  virtual ~NodeSetup() = default;

  /// Makes each node create a host key of its own, beside the one that it shows, and set its host
  /// name. Returns the public halves of the keys. A repeated call leaves the keys as they are.
  virtual std::vector<HostResult<std::string>> make_host_keys(const state::Cluster& cluster,
                                                              std::span<const state::Node> nodes,
                                                              const Cancel& cancel) = 0;

  /// Makes each node show that key from now on.
  virtual std::vector<HostResult<Reached>> show_host_keys(const state::Cluster& cluster,
                                                          std::span<const state::Node> nodes,
                                                          const Cancel& cancel) = 0;

  /// Mounts that storage on each node, now and after a restart, and removes our mounts that are not
  /// in it.
  virtual std::vector<HostResult<Reached>> attach_storage(const state::Cluster& cluster,
                                                          std::span<const state::Node> nodes,
                                                          const Storage& storage,
                                                          const Cancel& cancel) = 0;
};

/// A listener for an operation's progress, on the caller's thread. Must not throw.
class ClusterEvents {
 public:
  virtual ~ClusterEvents() = default;
  virtual void step_started(std::string_view /*step*/) {}   ///< "creating 2 nodes"
  virtual void step_finished(std::string_view /*step*/) {}  ///< The text of the start.
  /// Reports that a place is asked, which usually takes no time: "looking for orphans of provider
  /// aws". Shown until the next step, or until `asked`.
  virtual void asking(std::string_view /*what*/) {}
  virtual void asked() {}
  virtual void node_changed(const state::Node& /*node*/) {}
  /// Reports that one place had no room; the next one is tried.
  virtual void moving_on(std::string_view /*reason*/) {}
  /// Reports that machines did not start; others are requested.
  virtual void replacing(std::string_view /*reason*/) {}
  /// Reports that no place had room for `wanted` nodes, and `got` are enough.
  virtual void shrunk(std::size_t /*wanted*/, std::size_t /*got*/) {}
  virtual void left_behind(std::string_view /*sentence*/) {}  ///< Reports the remains of a removal.
  /// Reports that a new cluster is to be in the network of another one.
  virtual void network_shared(std::string_view /*sentence*/) {}
};

/// A function that returns the provider of that name, which lives as long as the Tools. Throws for
/// an unknown name.
using ProviderLookup = std::function<Provider&(const std::string& name)>;

struct Tools {
  state::Store& store;
  ProviderLookup providers;
  KeyMaker& keys;
  Reachability& reachability;
  ClusterEvents& events;
  Clock& clock;
  const Cancel& cancel;
  Clock::time_point deadline = Clock::time_point::max();
  std::chrono::milliseconds lock_timeout{
      10'000};  ///< The timeout for another fastgpu on the cluster.
  /// Keeps fastgpus on other machines away from a cluster whose lock is held here, until the
  /// returned handle is destroyed. Throws conflict if another machine keeps the cluster. Empty: no
  /// other machine can use the cluster.
  std::function<std::shared_ptr<void>(const Tools&, const state::Cluster&)> hold{};
  /// Null if all nodes boot with a host key of their own, and have no storage.
  NodeSetup* setup = nullptr;
};

}  // namespace fastgpu::provision
