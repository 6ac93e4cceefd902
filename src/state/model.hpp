// The data that fastgpu keeps between runs: clusters, nodes, jobs, and open intents.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "base/strong.hpp"
#include "state/guards.hpp"
#include "state/job_record.hpp"
#include "state/provider_spec.hpp"
#include "state/recorded.hpp"
#include "state/scheduler.hpp"

namespace fastgpu::state {

using TimePoint = std::chrono::system_clock::time_point;

/// Eight hexadecimal digits, chosen at creation. Names may be used again, ids are not.
using ClusterId = Strong<struct ClusterIdTag, std::string>;
using IntentId = Strong<struct IntentIdTag, std::int64_t>;

enum class ClusterState : std::uint8_t { creating, running, stopped, degraded, deleting };
enum class NodeState : std::uint8_t { creating, running, stopped, lost, deleting };
enum class JobState : std::uint8_t {
  queued,
  starting,
  running,
  succeeded,
  failed,
  cancelled,
  lost
};

/// The text that a part of a record was read from. The store alone looks into it: a part that is
/// unchanged is written as it was read, and fields of a newer fastgpu stay.
class ReadText {
  friend struct RecordText;
  std::shared_ptr<const std::string> text_{};
};

struct Cluster {
  ClusterId id{};
  ClusterName name{};
  std::string provider{};  ///< "local", "static", ...
  ClusterState state = ClusterState::creating;
  int slots = 1;       ///< The default number of ranks per node.
  std::string user{};  ///< Our account on the nodes.
  Recorded<ProviderSpec> provider_spec{};
  Recorded<Guards> guards{};
  Recorded<Scheduler> scheduler{};
  Recorded<Network> network{};
  TimePoint created{};
  ReadText spec_text{};  ///< The text of `provider_spec`, `guards` and `scheduler`.
  ReadText network_text{};

  // Each throws ErrorKind::local, naming the cluster, if its record is damaged, and internal if the
  // cluster is one of another kind of provider.
  const LocalSpec& local() const;
  const std::vector<StaticHost>& hosts() const;
  const CloudSpec& cloud() const;
  const CloudPlacement& placement() const;  ///< Returns the first place before the network exists.
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
  bool nodes_have_order = false;    ///< True if the nodes were ordered to watch themselves.
};

/// The beginning of a job, as its record has it.
struct RecordedStart {
  std::optional<TimePoint> started{};
  bool never_began = false;
};

struct Job {
  /// "<name>-<n>", unique in this state directory for ever; "<name>-<n>.<index>" in an array.
  std::string id{};
  ClusterId cluster{};
  Recorded<JobRecord> record{};
  JobState state = JobState::starting;
  std::optional<int> exit_code{};
  std::string reason{};  ///< Why it ended, in one sentence.
  TimePoint created{};
  std::optional<TimePoint> ended{};
  ReadText text{};  ///< The text of `record`.
};

/// Returns the start in a job's record, which it does not read; empty if it cannot be read.
RecordedStart recorded_start(const Job& job);

/// The request for a job and the places of its ranks, as lists show them.
struct ListedRequest {
  std::vector<std::string> argv{};
  EngineKind engine = EngineKind::mpirun;
  int priority = 0;
  int ranks = 0;                     ///< The programs: the workers of a job of torchrun.
  std::vector<std::string> nodes{};  ///< Those of the placement.
  std::string engine_nodes{};        ///< The nodes on which it runs, as the engine writes them.
  RecordedStart start{};
};

/// A job as lists show it. It is read without the rest of its record, which takes most of the time
/// with thousands of jobs.
struct JobLine {
  std::string id{};
  ClusterId cluster{};
  JobState state = JobState::starting;
  std::optional<int> exit_code{};
  std::string reason{};
  TimePoint created{};
  std::optional<TimePoint> ended{};
  /// Absent if it was not requested, or the record cannot be read.
  std::optional<ListedRequest> request{};
};

// The actions whose intents have details; provision/journal.hpp has all others.

/// Stored while machines are requested at a place other than the cluster's, under tokens derived
/// from the intent's token. Has no token while such machines are given back.
constexpr std::string_view kTryPlace = "try-place";
/// Stored while a machine of a node that was given up may still appear.
constexpr std::string_view kLateMachine = "late-machine";
/// Stored while an image is made of a node, which is restored afterwards. Never settled: the
/// command that makes the image finishes it.
constexpr std::string_view kBakeImage = "bake-image";

/// The index of a node.
using NodeIndex = Strong<struct NodeIndexTag, int>;

/// An image that a cloud makes of a machine.
struct ImageOrder {
  std::string region{};
  std::string machine{};      ///< The cloud's id of the machine.
  std::string name{};         ///< The name of the image.
  std::string environment{};  ///< The environment in it.
  std::string made_of{};      ///< A digest of everything that the image depends on.
  std::string owner{};        ///< The identity of the state directory.
  bool was_asked = false;     ///< True if the cloud may have received the request.
};

/// The data that is needed to settle an intent: the place of kTryPlace, the node of kLateMachine,
/// the image of kBakeImage; nothing for all others.
using IntentDetail = std::variant<std::monostate, CloudPlacement, NodeIndex, ImageOrder>;

/// An action that is recorded before it is taken.
struct Intent {
  IntentId id{};
  ClusterId cluster{};
  std::string action{};   ///< "create-node", "delete-node", "run-job", "copy", ...
  std::string subject{};  ///< The name of the node or job.
  std::string token{};    ///< The idempotency token; empty if the action needs none.
  Recorded<IntentDetail> detail{};
  TimePoint opened{};
  ReadText detail_text{};  ///< The text of `detail`.
};

}  // namespace fastgpu::state
