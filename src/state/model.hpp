// The state that fastgpu keeps between runs: clusters, nodes, jobs, and intents not yet settled.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "base/strong.hpp"

namespace fastgpu::state {

using TimePoint = std::chrono::system_clock::time_point;

/// Eight hexadecimal digits, made at creation: names may be reused, identities are not.
using ClusterId = Strong<struct ClusterIdTag, std::string>;
using IntentId = Strong<struct IntentIdTag, std::int64_t>;

enum class ClusterState : std::uint8_t { creating, running, stopped, degraded, deleting };
enum class NodeState : std::uint8_t { creating, running, stopped, lost, deleting };
enum class JobState : std::uint8_t { starting, running, succeeded, failed, cancelled, lost };

struct Cluster {
  ClusterId id{};
  ClusterName name{};
  std::string provider{};  ///< "local", "static", ...
  ClusterState state = ClusterState::creating;
  int slots = 1;            ///< Ranks a node takes by default.
  std::string user{};       ///< Our login on the nodes.
  std::string spec_json{};  ///< The provider's own part of the request, as JSON; opaque here.
  std::string network{};    ///< The provider's resources for the whole cluster (CIDR, ...).
  TimePoint created{};
};

struct JumpHost {
  std::string address{};
  std::uint16_t port = 22;
  std::string user{};
  std::vector<std::string> host_keys{};
};

struct Node {
  ClusterId cluster{};
  int index = 0;    ///< The place in the cluster; never reused while the cluster lives.
  NodeName name{};  ///< "<cluster>-<index>", or the host's own name with the static provider.
  NodeState state = NodeState::creating;
  std::string token{};        ///< The idempotency token of its request.
  std::string instance_id{};  ///< The provider's name for it; empty until known.
  std::string address{};      ///< The address for SSH.
  std::uint16_t port = 22;
  std::string private_address{};  ///< The address for the other nodes.
  std::string user{};
  int slots = 1;
  /// The user's own key: it opens the jump hosts, and with the static provider the node for the
  /// first time. Empty if the cluster's key, which opens the node, is the only one.
  std::string identity_file{};
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."
  std::vector<JumpHost> jumps{};
};

/// A time in which a node had a running machine, which is paid for if machines have a price.
struct Run {
  int index = 0;  ///< The index of the node.
  TimePoint began{};
  std::optional<TimePoint> ended{};  ///< Absent: still running.
};

/// The last action about the end of a cluster that ends by itself.
struct Timer {
  std::optional<TimePoint> ends{};  ///< The time of the end; absent: never.
  TimePoint contact{};              ///< The last contact of a client.
  std::string told{};               ///< The last order to the nodes, as text; may be empty.
};

struct Job {
  std::string id{};  ///< "<name>-<n>", unique for ever in this state directory.
  ClusterId cluster{};
  std::string spec_json{};  ///< The requested job; opaque here.
  JobState state = JobState::starting;
  std::optional<int> exit_code{};
  std::string reason{};  ///< The reason for its end, in one sentence.
  TimePoint created{};
  std::optional<TimePoint> ended{};
};

/// An action, recorded before it is taken.
struct Intent {
  IntentId id{};
  ClusterId cluster{};
  std::string action{};   ///< "create-node", "delete-node", "run-job", "copy", ...
  std::string subject{};  ///< The name of the node or job.
  std::string token{};    ///< The idempotency token; empty if the action needs none.
  std::string detail{};   ///< JSON, for settling it.
  TimePoint opened{};
};

}  // namespace fastgpu::state
