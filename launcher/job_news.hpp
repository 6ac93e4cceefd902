// The reports of a job's nodes on its ranks and on its end.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/followed_node.hpp"
#include "launcher/following_options.hpp"
#include "launcher/frames.hpp"
#include "launcher/job_observer.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// Takes the frames of all nodes, and passes news on to an observer.
class JobNews {
 public:
  /// The calls for news that concern the connections to nodes.
  struct Calls {
    /// All ranks that have not ended are idle, or all have ended, and the launcher stays.
    std::function<void()> when_hanging{};
    /// The node from which the launcher of a job in Slurm runs names the nodes of the job, which
    /// may have output.
    std::function<void(const FollowedNode& from, std::string_view nodes, bool have_output)>
        when_nodes_are_named{};
  };

  /// Borrows all but `calls`.
  JobNews(const FollowingOptions& options, const std::vector<NodeRanks>& placement,
          JobObserver& observer, Calls calls);

  /// Takes a frame, and notes in `node` how far it is. Throws denied for data that are not the
  /// node's own. The node must stay where it is.
  void take(FollowedNode& node, const agent::FrameHeader& header, std::string_view bytes);

  /// Reports a launcher that does not end after all ranks, as with a daemon of it that hangs. A
  /// program that ranks have started by MPI_Comm_spawn may go on without them: only the hang
  /// timeout ends the following. Called every second or so.
  void look_at_launcher(std::chrono::steady_clock::time_point now);

  /// Forgets which ranks of the node are idle, before it reports them anew.
  void forget_idle(const NodeRanks& ranks);

  bool has_supervisor(const FollowedNode& node) const;
  /// Returns the end of the job; absent before it was reported.
  const std::optional<agent::JobEnd>& job_end() const noexcept { return launcher_; }
  /// Returns true if a rank has ended badly by itself.
  bool has_failed_rank() const;
  /// Returns true if all ranks that have not ended are idle, and a hang is to end the following.
  bool hangs() const;
  /// Returns true if the launcher has stayed for the hang timeout after the end of all ranks.
  bool launcher_stayed() const noexcept { return has_stayed_; }
  /// Returns true if the other nodes behave as if this one were gone.
  bool have_others_ended(const FollowedNode& node) const;
  /// Fills in the placement, the ends and the hang.
  void add_to(JobReport& report) const;

 private:
  bool may_launch(const FollowedNode& node) const;
  std::optional<std::int64_t> clock_of_supervisor() const;
  void check(const FollowedNode& node, const agent::FrameHeader& header) const;
  void note_full(FollowedNode& node, const std::string& path);
  void take_rank_end(FollowedNode& node, int rank, std::string_view bytes);
  void take_launcher_words(std::string_view bytes);

  const FollowingOptions& options_;
  const std::vector<NodeRanks>& placement_;
  JobObserver& observer_;
  Calls calls_;
  std::map<int, agent::RankEnd> ends_{};
  std::map<int, const FollowedNode*> reporters_{};  ///< The node of each rank that has ended.
  std::optional<agent::JobEnd> launcher_{};
  std::string launcher_tail_{};
  std::set<std::string> late_{};  ///< The nodes that were reported as late.
  /// The time at which all ranks were first seen to have ended, without the launcher.
  std::optional<std::chrono::steady_clock::time_point> alone_since_{};
  /// The same, or the time at which the launcher last wrote something after that.
  std::optional<std::chrono::steady_clock::time_point> silent_since_{};
  bool is_stay_reported_ = false;
  bool has_stayed_ = false;
  std::set<int> idle_{};  ///< Ranks that have done nothing for too long.
};

}  // namespace fastgpu::launcher
