// Brings our standard input to the ranks of a job, over a connection to each node that reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/host_result.hpp"
#include "launcher/followed_node.hpp"
#include "launcher/following_options.hpp"
#include "launcher/node_commands.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// The takers of the input are the nodes, by their places in the job.
class InputFeed {
 public:
  /// Borrows both. Has nothing to do if `options` have no input.
  InputFeed(const FollowingOptions& options, const NodeCommands& commands, std::size_t nodes);

  /// Returns the places of the nodes whose ranks may need more input.
  std::vector<std::size_t> waiting() const;

  /// Returns the task that brings input to a node, from the place that the last one had reached. It
  /// uses this object.
  ssh::Task task(std::size_t place, const ssh::Host& host);

  /// Returns true if the task of a node has brought all of the input.
  bool is_all_brought(std::size_t place, const HostResult<ssh::Exit>& result);
  /// Returns the end of what the agent wrote to stderr.
  const std::string& complaint(std::size_t place) const { return lines_.at(place).complaint; }
  /// Returns the error of a task that has not brought everything; absent if it can be tried again.
  std::optional<Error> refusal_in(std::size_t place, const HostResult<ssh::Exit>& result) const;

 private:
  struct Line {
    bool is_done = false;
    std::string answer{};  ///< The beginning of a line of `job-input`.
    std::string complaint{};
  };

  void take_answer(std::size_t place, std::string_view bytes);

  const FollowingOptions& options_;
  const NodeCommands& commands_;
  std::vector<Line> lines_;  ///< One for each node.
};

}  // namespace fastgpu::launcher
