// The first process of a node. It is found by the lock that it holds, and ended by its descriptor,
// never by its number.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/outcome.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::provision::local {

/// Returns a descriptor of the process, readable once it has ended; empty, with errno set, if it is
/// gone.
UniqueFd open_process(pid_t pid);
void signal_process(const UniqueFd& process, int number);
/// Returns true if the process ends within `limit`.
bool ends_within(const UniqueFd& process, std::chrono::milliseconds limit);

/// A node's first process. The descriptor stays bound to this process, even if the number is
/// reused.
struct LiveNode {
  pid_t pid = 0;
  UniqueFd process;
};

/// Returns the process that holds the lock of the node in `folder`, if the node lives. Throws
/// ErrorKind::local if it lives in a process namespace that we cannot see into.
std::optional<LiveNode> find_live(const std::filesystem::path& folder);
bool is_live(const std::filesystem::path& folder);

enum class Ending { in_order, at_once };

/// Ends the nodes in `folders` all together and returns when no process of theirs is left. One
/// outcome each; a node that does not live is a success.
std::vector<Outcome<void>> end_nodes(std::span<const std::filesystem::path> folders, Ending ending);

}  // namespace fastgpu::provision::local
