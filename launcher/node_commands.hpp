// The lines that a node's login shell gets from us. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/protocol/job_folder.hpp"
#include "agent/protocol/tail.hpp"
#include "launcher/job.hpp"
#include "remote/agent.hpp"

namespace fastgpu::launcher {

/// The limits for folders of ended jobs on nodes. The newest `count` that ended within `age` are
/// kept; the start of a job removes the others.
struct Retention {
  int count = 50;
  std::chrono::seconds age{std::chrono::hours(30 * 24)};
};

enum class SlurmHome : std::uint8_t;  // See engines/slurm_batch.hpp.

/// Builds the commands that call the agent for one job.
class NodeCommands {
 public:
  NodeCommands(remote::AgentHash agent, std::string job_id);

  /// Returns a command that writes files below ~/.fastgpu, which it reads from standard input.
  std::string put_files(const Retention& retention) const;
  /// Returns a command that writes files below ~/.fastgpu, which it reads from standard input, and
  /// then prints the node's facts, in one round trip.
  std::string put_files_and_facts(const std::string& mpirun_in, const Retention& retention) const;
  /// The same for the first files of a job: it writes nothing and ends with agent::kIdTaken if the
  /// node has a job of this id, or with agent::kHomeShared if another node has the same home
  /// directory. With agent::FolderPlace::own_disk such nodes can have the job.
  std::string put_new_files_and_facts(const JobSpec& spec, const Retention& retention,
                                      agent::FolderPlace place = agent::FolderPlace::usual) const;
  /// Returns a command that prints the same facts and changes nothing. It fails if a rank could not
  /// start.
  std::string trial_facts(const JobSpec& spec) const;
  /// Returns a command that starts the job, and then checks as `reach` does unless `reach_words` is
  /// empty.
  std::string put_files_and_start(const std::vector<std::string>& reach_words) const;
  /// Returns a command that checks whether the node reaches other nodes of the job.
  std::string reach(const std::vector<std::string>& words) const;

  struct Follow {
    std::optional<std::set<int>> ranks{};
    std::optional<agent::Tail> tail{};
    std::optional<std::chrono::milliseconds> since{};  ///< Only lines of the time before now.
    bool times = false;                                ///< Sends the time of each piece of output.
    bool continues = false;  ///< `offsets` are sent first, on standard input.
    bool wait = true;
    bool data = true;  ///< If false, only statuses and the end of the launcher's stderr are sent.
    bool renew_lease = false;
    bool begun = false;  ///< Fails where the supervisor has not begun.
    bool beats = false;  ///< The lease is renewed only while Beats come on standard input.
  };
  std::string follow(const Follow& what) const;

  /// Returns the input of `follow`: the bytes of each log that have been read. A node may have
  /// thousands of logs, too many for a command line.
  static std::string offsets(const std::map<std::string, std::uint64_t>& from);
  /// Returns a command for the first node that passes its standard input on to rank 0.
  std::string input() const;

  std::string stop() const;
  std::string sweep() const;
  std::string remove() const;
  /// Returns a command that prints the job as the node has it.
  std::string show() const;
  /// Returns a command that prints the stacks of the ranks on a node.
  std::string stacks() const;

  /// Returns the command by which mpirun starts its daemons, relative to the home directory: the
  /// agent. It makes mpirun's command one that every login shell reads, and bounds the wait.
  std::vector<std::string> remote_shell() const;

  /// Returns the command for the first node that starts the ranks of all nodes without MPI.
  /// `ssh_config` is empty for a job of one node; the variables `pass` reach all ranks.
  std::vector<std::string> launch(const std::string& ssh_config,
                                  const std::vector<std::string>& pass) const;

  /// Returns the command that prints what a batch script of Slurm needs before the ranks start, as
  /// assignments of a shell. With a home directory for each node, it reads the batch script on the
  /// standard input.
  std::string slurm_start(SlurmHome home) const;

  /// Returns the command of a shell that becomes a rank where Slurm starts it. With a home
  /// directory for each node, it reads the batch script on the standard input, writes the files
  /// that this carries, and writes a line once there is something to read. The last rank of a node
  /// then removes the job's variables there.
  std::string slurm_rank(SlurmHome home, const Retention& retention) const;

  /// Returns the command that mpirun runs as a rank. It is the same on all nodes, although their
  /// home directories may differ.
  std::vector<std::string> rank() const;

 private:
  std::vector<std::string> put_words(const std::string& mpirun_in,
                                     const Retention& retention) const;
  std::string call(std::vector<std::string> words) const;

  remote::AgentHash agent_;
  std::string job_id_;
};

}  // namespace fastgpu::launcher
