// The nodes that the jobs of an array run on, and those that it has lost meanwhile.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// The nodes of an array while its jobs run.
class ArrayNodes {
 public:
  /// Borrows the context and the target. `array` is the array's id.
  ArrayNodes(Context& context, const RemoteTarget& target, std::string array);

  /// Notes the nodes that a job of the array has lost and that do not answer: a node on which only
  /// a process of the job was killed is as good as before. Warns of each of them once. May ask
  /// nodes, for a few seconds.
  void note(const state::Job& job);

  /// Returns the nodes that run and are not lost; all of them if none is left. Warns once of each
  /// node that has gone. Asks the lost ones now and then: a node that answers again is used again.
  std::vector<state::Node> usable();

  /// Returns the names of the lost nodes, separated by commas. Asks as usable() does.
  std::string lost_names();

  /// Warns of each node that is missing after the end of the array.
  void tell_missing() const;

 private:
  void ask_place() const;  ///< Records the states of the nodes that the place reports now.
  /// Takes the nodes that run and answer out of the list, and returns the others.
  std::vector<state::Node> without_answer(std::vector<state::Node> nodes) const;
  void ask_lost_again();
  std::vector<state::Node> nodes_now() const;  ///< The nodes as they are on record.
  /// Returns the nodes that the job has lost, unless they are known to be lost, were replaced, or
  /// have answered after this run of the job.
  std::vector<state::Node> newly_lost(const state::Job& job) const;
  bool is_lost(const state::Node& node) const;
  bool is_missing(const state::Node& node) const;
  /// Returns why the node is missing, with a remedy.
  std::string reason_of(const state::Node& node) const;
  void warn_once(const state::Node& node, const std::vector<state::Node>& all);

  Context& context_;
  const RemoteTarget& target_;
  std::string array_;
  std::map<NodeName, std::string> lost_{};  ///< The machines of lost nodes.
  /// The runs of jobs that have lost a node, and the node, which has been asked since.
  std::set<std::pair<std::string, NodeName>> asked_{};
  Clock::time_point ask_again_at_{};
  std::set<NodeName> off_{};  ///< The nodes that were not running at the last look.
  std::set<NodeName> told_{};
};

}  // namespace fastgpu::cli
