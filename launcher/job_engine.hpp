// The interface of what runs jobs: mpirun on the nodes of a cluster, or a scheduler such as Slurm.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/protocol/tail.hpp"
#include "base/cancel.hpp"
#include "base/error.hpp"
#include "base/host_result.hpp"
#include "launcher/following.hpp"
#include "launcher/job.hpp"
#include "launcher/job_outcome.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// The effect of a cancel on a job that is being followed.
enum class OnCancel : std::uint8_t { stop_job, leave_job };

enum class LogMode : std::uint8_t { what_there_is, follow };

struct LogRequest {
  std::optional<int> rank{};                         ///< Absent: all, mpirun's own output included.
  std::optional<agent::Tail> tail{};                 ///< The last lines; absent: all.
  std::optional<std::chrono::milliseconds> since{};  ///< Lines of this time before now.
  bool times = false;  ///< Reports when output was written, and each node's output in that order.
  LogMode mode = LogMode::what_there_is;
  bool backlog_first = false;              ///< That of FollowingOptions.
  std::vector<NodeName> left_out{};        ///< Nodes of the job that are not asked.
  std::function<bool()> are_nodes_gone{};  ///< That of FollowingOptions.
};

/// The result of asking an engine once about a job.
struct JobGlance {
  std::optional<JobOutcome> outcome{};  ///< Absent while the job has not ended, as far as known.
  /// The time on our clock at which the ranks began, to about a second; absent if that is not
  /// known.
  std::optional<state::TimePoint> began{};
  bool is_unknown = false;  ///< The engine has answered, and has no such job.
  std::string silence{};    ///< Why the nodes did not answer; empty if they did.
  bool waits = false;       ///< The job waits in the engine's own queue.
  std::string reason{};     ///< Why it waits; empty if it does not.
  std::string nodes{};      ///< The nodes that the engine has chosen.
  std::string engine_id{};  ///< The engine's own name for the job; empty if it is not known.
};

/// The result of asking, before its start, whether a job could start.
struct JobTrial {
  std::optional<JobOutcome> outcome{};  ///< The outcome of ranks that could not begin.
  std::string note{};                   ///< The engine's own answer; empty if it has none.
  std::string text{};  ///< The engine's input, such as a batch script; may be empty.
};

/// A job that has been started.
struct StartedRun {
  std::string engine_id{};  ///< The engine's own name for the job; empty if it has none.
  std::string warning{};    ///< The reason why the job may be slow; empty if none is known.
};

/// Thrown when the nodes have a job of this id, which another machine has started: an ErrorKind
/// conflict. Nothing of the new job is left there.
class JobIdTaken : public Error {
 public:
  explicit JobIdTaken(const std::string& message) : Error(ErrorKind::conflict, message) {}
};

/// Thrown when nodes of the job do not answer: an ErrorKind transient. Nothing of the job is left
/// on the others.
class NodesSilent : public Error {
 public:
  NodesSilent(const Error& why, std::vector<NodeName> nodes)
      : Error(why), nodes_(std::move(nodes)) {}

  const std::vector<NodeName>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<NodeName> nodes_;
};

/// Thrown when a start failed and the job may run all the same: the request to start it may have
/// arrived, and its engine could not be asked to end it. The kind is that of the first failure.
class JobMayRun : public Error {
 public:
  explicit JobMayRun(const Error& why) : Error(why) {}
};

/// The time that an engine has for its answer: a few seconds for a list of jobs, and half a minute
/// if another job waits for the answer. A login takes long if it reads its modules from a network,
/// or is on another continent.
enum class Asking : std::uint8_t { briefly, patiently };

constexpr std::chrono::milliseconds limit_of(Asking how, std::chrono::milliseconds brief) noexcept {
  constexpr std::chrono::seconds kPatiently{30};
  return how == Asking::briefly ? brief : std::max<std::chrono::milliseconds>(brief, kPatiently);
}

/// Runs one job at a time, as the client that it uses does. All calls block. An `id` is the name of
/// a run: see run_name(). Only a start needs all nodes of the job: the other calls pass over nodes
/// that have left the cluster.
class JobEngine {
 public:
  virtual ~JobEngine() = default;

  /// Starts a job. After an exception or a cancel nothing of it runs, unless JobMayRun is thrown.
  /// Throws JobIdTaken if the nodes have a job of this id. Calls `when_prepared` once the job's own
  /// directory exists, and before anything runs there, so that the caller can fill
  /// job_work_directory.
  virtual StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                           const std::function<void()>& when_prepared = {}) = 0;

  /// Checks what `start` needs, and starts nothing. Throws as `start` does.
  virtual JobTrial try_start(const JobRecord& job, const Cancel& cancel) = 0;

  /// Follows a job, from wherever it is, to its end; a cancel stops it everywhere, within the grace
  /// of its programs, or leaves it. With leave_job, a cancel throws ErrorKind::interrupted. Nodes
  /// that have left the cluster are reported to the observer.
  virtual JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                            const FollowingOptions& options, JobObserver& observer,
                            const Cancel& cancel) = 0;

  /// Asks once. Throws transient if the engine does not answer.
  virtual JobGlance glance(const std::string& id, const JobRecord& job,
                           Asking how = Asking::briefly) = 0;

  /// Waits until the job may have ended, which glance() then decides, or for a cancel. It has no
  /// effect on the job. Throws if the engine cannot be asked.
  virtual void await_end(const std::string& id, const JobRecord& job, const Cancel& cancel) = 0;

  /// Stops all of the job. Names the nodes that did not confirm it, each with the reason; the node
  /// of the supervisor is the first. Stopping a job that has ended is a success, and so it is on a
  /// node that has left the cluster.
  virtual std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) = 0;

  /// Passes on the bytes that the programs wrote. Throws for a node that does not answer or, if the
  /// job is followed, is lost before the job has ended; and for one that has left the cluster
  /// (not_found), after the others have been read; and for a rank that the job does not have
  /// (usage).
  virtual void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
                    JobObserver& observer, const Cancel& cancel) = 0;

  /// Removes what is left of an ended job, logs included. Passes over what is gone already.
  virtual std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                                    const Cancel& cancel) = 0;
};

}  // namespace fastgpu::launcher
