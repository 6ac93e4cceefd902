// Watches a job on all of its nodes until it has ended, over connections that may break.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "launcher/beats.hpp"
#include "launcher/followed_node.hpp"
#include "launcher/following_options.hpp"
#include "launcher/frames.hpp"
#include "launcher/input_feed.hpp"
#include "launcher/job_news.hpp"
#include "launcher/job_observer.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/node_commands.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

class Following {
 public:
  /// Takes `hosts` of `placement`, one each.
  Following(ssh::Client& client, std::vector<ssh::Host> hosts, std::vector<NodeRanks> placement,
            NodeCommands commands, FollowingOptions options, JobObserver& observer);
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

  /// Follows until the job has ended everywhere, a node is lost, it hangs, or `cancel` comes. A
  /// cancel throws nothing here: check it. Throws NodeRefusal for a node's final answer before the
  /// end of the job: denied (also if it sends data that is not its own), no such job, no agent.
  void run(const Cancel& cancel);

  /// Throws NodeRefusal if a node has given such an answer after the end of the job, whose outcome
  /// does not need it.
  void require_answers() const;

  /// Returns the nodes that have answered that they do not have the job.
  std::vector<NodeName> nodes_without_job() const;

  /// Reads the output that has not been seen yet, without waiting for more. Nodes that do not
  /// answer within `limit` are skipped.
  void catch_up(std::chrono::milliseconds limit);

  /// Reads all output, without waiting for more. Throws, after the others have been read, for the
  /// nodes that do not answer (transient), and NodeRefusal for those whose answer is final.
  void read_all(const Cancel& cancel);

  /// Returns the observations so far.
  JobReport report() const;

 private:
  enum class Wait : std::uint8_t { no, yes };  ///< The wait for the ranks of a node to end.
  using Node = FollowedNode;

  ssh::Task task_for(Node& node, FrameDecoder& decoder, bool wait);
  std::vector<Node*> incomplete();
  void take_nodes(const Node& from, std::string_view list, bool have_output);
  void want_nodes_of_job();
  void read_backlog(const Cancel& cancel);
  bool lacks_job(const Node& node, const Error& failure) const;
  void run_once(const Cancel& cancel);
  void collect_rest();
  bool may_get_order() const;
  void await_order(std::chrono::milliseconds limit);
  std::vector<HostResult<ssh::Exit>> read_once(
      std::chrono::milliseconds limit, std::optional<std::chrono::milliseconds> connect_limit,
      Wait wait, const Cancel& cancel);
  bool needs_beats(const Node& node) const;
  bool is_needed(const Node& node) const;
  std::optional<Error> failure_in(const Node& node, const HostResult<ssh::Exit>& result) const;
  bool note_input_result(std::size_t place, const HostResult<ssh::Exit>& result);
  bool note_result(Node& node, const HostResult<ssh::Exit>& result);
  bool is_without_agent(const HostResult<ssh::Exit>& result, std::string_view complaint) const;
  bool note_missing_agent(Node& node, const HostResult<ssh::Exit>& result,
                          std::string_view complaint) const;
  bool install_agents(std::chrono::milliseconds limit, const Cancel& cancel);
  bool job_ended() const noexcept { return news_.job_end().has_value(); }
  bool is_given_up(const Node& node) const;
  bool find_lost();
  std::optional<std::chrono::milliseconds> limit_for(std::span<Node* const> nodes) const;

  ssh::Client& client_;
  std::vector<Node> nodes_;
  std::vector<NodeRanks> placement_;
  NodeCommands commands_;
  FollowingOptions options_;
  JobObserver& observer_;
  JobNews news_;
  InputFeed input_;
  std::vector<LostNode> lost_;
  std::set<std::string> nodes_of_job_{};  ///< Slurm's names for the chosen nodes; or empty.
  bool has_new_nodes_ = false;            ///< More nodes are to be read in the next round.
  std::vector<NodeName> unreached_;
  std::string silence_{};              ///< Why the supervisor's node did not answer the last look.
  bool is_unknown_ = false;            ///< The supervisor's node has answered, without such a job.
  Beats* beats_ = nullptr;             ///< Those of the present round; null if it needs none.
  std::function<void()> end_round_{};  ///< Ends the connections of the present round.
};

}  // namespace fastgpu::launcher
