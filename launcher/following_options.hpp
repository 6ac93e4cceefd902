// The choices of a caller that follows a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "agent/protocol/tail.hpp"
#include "base/names.hpp"
#include "launcher/contact.hpp"
#include "launcher/job.hpp"
#include "remote/agent.hpp"
#include "remote/shared_input.hpp"

namespace fastgpu::launcher {

enum class Renewal : std::uint8_t { yes, no };

struct FollowingOptions {
  std::optional<agent::Tail> tail{};  ///< The last lines of existing output; absent: all.
  /// Only lines that were written within this time before now; absent: all.
  std::optional<std::chrono::milliseconds> since{};
  std::optional<std::set<int>> ranks{};
  bool times = false;  ///< Reports to the observer when output was written.
  /// Reads the output that is there already before it follows, so that an observer can sort it.
  bool backlog_first = false;
  /// If false, the observer gets no output. The end of the launcher's stderr is read all the same,
  /// because it explains the end of the job.
  bool data = true;
  Renewal renew_lease = Renewal::yes;
  bool needs_begin = false;  ///< A node on which the supervisor has not begun has no such job.
  /// A node without contact for this long is lost.
  std::chrono::milliseconds lost_after = kLostAfter;
  /// Called when a node does not answer, before it is asked again. Returns true if nodes of the job
  /// are gone for good, as the records have it: one without an answer is lost at once then.
  std::function<bool()> are_nodes_gone{};
  /// The node that has the supervisor, the only one that may report the job's end unless
  /// `anywhere`. Absent: the first one.
  std::optional<NodeName> supervisor{};
  /// The input of ranks: with one taker for rank 0, or one for each node; null: none.
  remote::SharedInput* input = nullptr;
  Input input_to = Input::rank_0;
  /// Each node may have each rank and the launcher, and report the job's end, as a scheduler
  /// decides. Then only the loss of the supervisor's node ends the following. The other nodes of
  /// the job are read once one of them has something to read, as the node of the launcher reports,
  /// or once the job has ended badly.
  bool anywhere = false;
  /// Called when the node of the supervisor reports that the launcher has begun there.
  std::function<void()> when_launcher_begins{};
  std::function<void()> when_rank_fails{};  ///< Called after the report of a bad end of a rank.
  /// Returns from run() if the job hangs, or if its launcher has neither ended nor written anything
  /// for this long after the end of all ranks; 0: never.
  std::chrono::milliseconds hang_timeout{0};
  /// Keeps the connections for further commands of the same client.
  bool keeps_connections = false;
  /// The agent that nodes without one get, such as those of a job that an older version started.
  /// Absent: it is an error that they have none.
  std::optional<remote::AgentProgram> agent{};
};

}  // namespace fastgpu::launcher
