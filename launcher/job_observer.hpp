// The listener for what happens in a job that is followed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/protocol/frame.hpp"
#include "agent/protocol/status.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

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
  /// Reports that output follows which was there before: with its times, and sorted by them on each
  /// node. Only with FollowingOptions::backlog_first, and only from nodes.
  virtual void backlog_begins() {}
  /// Reports that this output is complete, and that what follows comes as it is written.
  virtual void backlog_ended() {}
  /// Reports that a scheduler has not started the run yet or has suspended it, and the reason, as
  /// in "waits in Slurm's queue (Resources)", whenever that changes; an empty text once it runs.
  /// Called from a thread of its own.
  virtual void queued(const std::string& run, const std::string& reason) {
    static_cast<void>(run), static_cast<void>(reason);
  }
  virtual void rank_ended(const agent::RankEnd&, const NodeName&) {}
  /// Reports that the logs of ranks there may be incomplete. Called once for each node.
  virtual void disk_full(const NodeName&, const std::string& path) { static_cast<void>(path); }
  /// Reports a lost connection, which is tried again.
  virtual void connection_lost(const NodeName&, const Error&) {}
  /// Reports a node that has left the cluster: the output of its ranks is missing.
  virtual void node_left(const NodeName&) {}
  /// Reports a node whose ranks the launcher cannot start yet. Called once for each node.
  virtual void starts_late(const NodeName&, std::chrono::milliseconds /*longest*/) {}
  /// Reports that the launcher runs on though all ranks ended `ago`. Called once.
  virtual void launcher_stays(const NodeName& /*first*/, std::chrono::milliseconds /*ago*/) {}
  /// Reports the stacks of the idle ranks on a node of a job that hangs.
  virtual void stacks(const NodeName&, std::string_view text) { static_cast<void>(text); }
};

}  // namespace fastgpu::launcher
