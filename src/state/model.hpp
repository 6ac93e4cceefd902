// The data that fastgpu keeps between runs: clusters, nodes, jobs, and open intents.
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

/// Eight hexadecimal digits, chosen at creation. Names may be used again, ids are not.
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
  int slots = 1;       ///< The default number of ranks per node.
  std::string user{};  ///< Our account on the nodes.
  /// The part of the request that only the provider understands, as JSON.
  std::string spec_json{};
  std::string network{};  ///< The provider's resources for the whole cluster (a CIDR and so on).
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
  int index = 0;    ///< The position in the cluster; never used again while the cluster exists.
  NodeName name{};  ///< "<cluster>-<index>", or the host's own name with the static provider.
  NodeState state = NodeState::creating;
  std::string token{};        ///< The idempotency token of its request.
  std::string instance_id{};  ///< The provider's name for the machine; empty until it is known.
  std::string address{};      ///< The address for SSH.
  std::uint16_t port = 22;
  std::string private_address{};  ///< The address for the other nodes.
  std::string user{};
  int slots = 1;
  /// The user's own key file. It is for the jump hosts and, with the static provider, for the first
  /// login to the node. Empty if only the cluster's key, which opens the node, is used.
  std::string identity_file{};
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."
  std::vector<JumpHost> jumps{};
};

/// A time during which a node's machine ran. It is paid for if machines have a price.
struct Run {
  int index = 0;  ///< The index of the node.
  TimePoint began{};
  std::optional<TimePoint> ended{};  ///< Absent if it still runs.
};

/// The last update of a cluster's guards.
struct Timer {
  std::optional<TimePoint> ends{};  ///< The time at which the cluster ends; absent for never.
  TimePoint contact{};              ///< The last contact of a client.
  std::string told{};  ///< The text of the last order that was sent to the nodes; may be empty.
};

struct Job {
  std::string id{};  ///< "<name>-<n>", unique in this state directory for ever.
  ClusterId cluster{};
  std::string spec_json{};  ///< The requested job, as JSON. Not interpreted here.
  JobState state = JobState::starting;
  std::optional<int> exit_code{};
  std::string reason{};  ///< Why it ended, in one sentence.
  TimePoint created{};
  std::optional<TimePoint> ended{};
};

/// An action that is recorded before it is taken.
struct Intent {
  IntentId id{};
  ClusterId cluster{};
  std::string action{};   ///< "create-node", "delete-node", "run-job", "copy", ...
  std::string subject{};  ///< The name of the node or job.
  std::string token{};    ///< The idempotency token; empty if the action needs none.
  std::string detail{};   ///< JSON that is needed to settle it.
  TimePoint opened{};
};

}  // namespace fastgpu::state
