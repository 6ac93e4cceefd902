// The lines that a node's login shell gets from us. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/job.hpp"
#include "remote/agent.hpp"

namespace fastgpu::launcher {

/// The limits for folders of ended jobs on nodes: the newest `count` that ended within `age` stay.
/// The rest is removed when a job starts.
struct Retention {
  int count = 50;
  std::chrono::seconds age{std::chrono::hours(30 * 24)};
};

/// Calls of the agent for one job.
class NodeCommands {
 public:
  NodeCommands(remote::AgentHash agent, std::string job_id);

  /// Files below ~/.fastgpu, from standard input, and then in the same round trip:
  std::string put_files_and_facts(const std::string& mpirun_in, const Retention& retention) const;
  /// Asks for the same facts, fails where a rank could not start, and changes nothing.
  std::string trial_facts(const JobSpec& spec) const;
  /// Starts the job, and then asks as `reach` does if there are words for it.
  std::string put_files_and_start(const std::vector<std::string>& reach_words) const;
  /// Asks whether the node gets to others of the job.
  std::string reach(const std::vector<std::string>& words) const;

  struct Follow {
    std::optional<std::set<int>> ranks{};
    std::optional<std::uint64_t> tail{};
    bool continues = false;  ///< `offsets` are sent first, on standard input.
    bool wait = true;
    bool data = true;
    bool renew_lease = false;
  };
  std::string follow(const Follow& what) const;

  /// How far each log has been read, as `follow` takes it. Not in the command line, which carries
  /// little: a node may have thousands of logs.
  static std::string offsets(const std::map<std::string, std::uint64_t>& from);
  /// Takes standard input for rank 0, on the first node.
  std::string input() const;

  std::string stop() const;
  std::string sweep() const;
  std::string remove() const;

  /// Returns the command by which mpirun starts its daemons, for the first node's home: the agent.
  /// It makes mpirun's command one that every login shell reads. Empty if mpirun could not read
  /// that path.
  std::string remote_shell(const std::string& home) const;

  /// What mpirun runs as a rank, on whatever node: homes may differ.
  std::vector<std::string> rank() const;

 private:
  std::string call(std::vector<std::string> words) const;

  remote::AgentHash agent_;
  std::string job_id_;
};

}  // namespace fastgpu::launcher
