// Watches a job on all of its nodes until it has ended, over connections that may break.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "launcher/beats.hpp"
#include "launcher/contact.hpp"
#include "launcher/frames.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/node_commands.hpp"
#include "remote/agent.hpp"
#include "remote/shared_input.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// A listener for a job's events, in the caller's thread. `rank` is agent::kLauncherRank for mpirun
/// itself.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  /// Receives pieces of any size; those of one stream in order, byte for byte.
  virtual void output(int rank, agent::OutputStream stream, std::string_view bytes) = 0;
  /// Reports, before a piece of output, when it was written: in nanoseconds since 1970 by the
  /// node's clock. Only with FollowingOptions::times, and only if it is known.
  virtual void written_at(int rank, agent::OutputStream stream, std::int64_t time) {
    static_cast<void>(rank), static_cast<void>(stream), static_cast<void>(time);
  }
  virtual void rank_ended(const agent::RankEnd&, const NodeName&) {}
  /// Reports that the logs of ranks there may be incomplete. Called once for each node.
  virtual void disk_full(const NodeName&, const std::string& path) { static_cast<void>(path); }
  /// Reports a lost connection, which is tried again.
  virtual void connection_lost(const NodeName&, const Error&) {}
  /// Reports the stacks of the idle ranks on a node of a job that hangs.
  virtual void stacks(const NodeName&, std::string_view text) { static_cast<void>(text); }
};

enum class Renewal : std::uint8_t { yes, no };

struct FollowingOptions {
  std::optional<std::uint64_t> tail{};  ///< Number of last lines of existing output; absent: all.
  /// Only lines that were written within this time before now; absent: all.
  std::optional<std::chrono::milliseconds> since{};
  bool times = false;  ///< Reports to the observer when output was written.
  std::optional<std::set<int>> ranks{};
  /// If false, the observer gets no output. The end of the launcher's stderr is read all the same,
  /// because it explains the end of the job.
  bool data = true;
  Renewal renew_lease = Renewal::yes;
  bool needs_begin = false;  ///< A node on which the supervisor has not begun has no such job.
  /// A node without contact for this long is lost.
  std::chrono::milliseconds lost_after = kLostAfter;
  /// The node that has the supervisor, the only one that may report the job's end. Absent: the
  /// first one.
  std::optional<NodeName> supervisor{};
  /// Each node may have each rank and the launcher, as a scheduler decides. Then only the loss of
  /// the supervisor's node ends the following.
  bool anywhere = false;
  /// The input of ranks: with one taker for rank 0, or one for each node; null: none.
  remote::SharedInput* input = nullptr;
  Input input_to = Input::rank_0;
  bool ends_hangs = false;  ///< Returns from run() if the job hangs.
  /// The agent that nodes without one get, such as those of a job that an older version started.
  /// Absent: it is an error that they have none.
  std::optional<remote::AgentProgram> agent{};
};

class Following {
 public:
  /// Takes `hosts` of `placement`, one each.
  Following(ssh::Client& client, std::vector<ssh::Host> hosts, std::vector<NodeRanks> placement,
            NodeCommands commands, FollowingOptions options, JobObserver& observer);

  /// Follows until the job has ended everywhere, a node is lost, it hangs, or `cancel` comes. A
  /// cancel throws nothing here: check it. Throws a node's final answers: denied (also if it sends
  /// data that is not its own), no such job, no agent.
  void run(const Cancel& cancel);

  /// Reads the output that has not been seen yet, without waiting for more. Nodes that do not
  /// answer within `limit` are skipped.
  void catch_up(std::chrono::milliseconds limit);

  /// Reads all output, without waiting for more. Throws, after the others have been read, the error
  /// of a node that does not answer.
  void read_all(const Cancel& cancel);

  /// Returns the observations so far.
  JobReport report() const;

 private:
  enum class Wait : std::uint8_t { no, yes };  ///< The wait for the ranks of a node to end.

  struct Node {
    ssh::Host host;
    NodeRanks ranks;
    std::map<std::string, std::uint64_t> offsets{};
    bool complete = false;
    std::string full_disk{};  ///< The folder of its logs, once the disk was full; else empty.
    /// The node's clock less ours, in nanoseconds, less the time that a message took. Absent before
    /// the first message with a time.
    std::optional<std::int64_t> clock_offset{};
    std::string complaint{};                           ///< The agent's stderr.
    std::chrono::steady_clock::time_point heard_at{};  ///< The time of the last byte from it.
    bool lacks_agent = false;                          ///< It has said so,
    bool got_agent = false;                            ///< and has got one since.
    bool is_broken = false;  ///< Its connection has failed, and no other one brought anything.
    std::string silence{};   ///< The reason for that.
    bool input_done = false;
    std::string input_answer{};  ///< The beginning of a line of `job-input`.
    std::string input_complaint{};
  };

  ssh::Task task_for(Node& node, FrameDecoder& decoder, bool wait);
  std::vector<Node*> incomplete();
  void run_once(const Cancel& cancel);
  void collect_rest();
  std::vector<HostResult<ssh::Exit>> read_once(
      std::chrono::milliseconds limit, std::optional<std::chrono::milliseconds> connect_limit,
      Wait wait, const Cancel& cancel);
  std::vector<Node*> waiting_for_input();
  std::size_t taker_of(const Node& node) const;
  ssh::Task input_task(Node& node);
  void take_input_answer(Node& node, std::string_view bytes);
  bool has_supervisor(const Node& node) const;
  bool needs_beats(const Node& node) const;
  bool may_launch(const Node& node) const;
  bool is_needed(const Node& node) const;
  bool note_input_result(Node& fed, const HostResult<ssh::Exit>& result);
  void check(const Node& node, const agent::FrameHeader& header) const;
  void take(Node& node, const agent::FrameHeader& header, std::string_view bytes);
  void note_full(Node& node, const std::string& path);
  bool note_result(Node& node, const HostResult<ssh::Exit>& result);
  bool note_missing_agent(Node& node, const HostResult<ssh::Exit>& result,
                          std::string_view complaint) const;
  bool install_agents(std::chrono::milliseconds limit, const Cancel& cancel);
  bool job_ended() const noexcept { return launcher_.has_value(); }
  bool hangs() const;
  bool is_given_up(const Node& node) const;
  bool find_lost();
  static void hear(Node& node);
  bool have_others_ended(const Node& node) const;
  std::optional<std::chrono::milliseconds> limit_for(std::span<Node* const> nodes) const;

  ssh::Client& client_;
  std::vector<Node> nodes_;
  std::vector<NodeRanks> placement_;
  NodeCommands commands_;
  FollowingOptions options_;
  JobObserver& observer_;
  std::map<int, agent::RankEnd> ends_;
  std::map<int, const Node*> reporters_;  ///< The node of each rank that has ended.
  std::optional<agent::JobEnd> launcher_;
  std::string launcher_tail_;
  std::vector<LostNode> lost_;
  std::vector<NodeName> unreached_;
  bool is_unknown_ = false;            ///< The supervisor's node has answered, without such a job.
  Beats* beats_ = nullptr;             ///< Those of the present round; null if it needs none.
  std::set<int> idle_;                 ///< Ranks that have done nothing for too long.
  std::function<void()> end_round_{};  ///< Ends the connections of the present round.
};

/// Asks the nodes of a job once how far it is, without its ranks' output and without renewing its
/// lease. Those that do not answer within `limit` are skipped.
JobReport glance_at_nodes(ssh::Client& client, std::vector<ssh::Host> hosts,
                          std::vector<NodeRanks> placement, NodeCommands commands,
                          std::chrono::milliseconds limit, FollowingOptions options = {});

}  // namespace fastgpu::launcher
