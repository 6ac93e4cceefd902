// Nodes whose directory of temporary files is full, a cause of mpirun's failures that its messages
// do not name.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::launcher {

/// Returns the command that tries to write a small file in $TMPDIR or /tmp, and prints the path of
/// the directory if it has no room.
std::string temporary_room_command();

/// Returns the full directories in the answers to that command. Ignores nodes that do not answer.
std::vector<state::FullDiskAt> full_directories_in(std::span<const NodeAnswer> answers);

/// Asks the hosts for their full directories. Waits for at most `limit`.
std::vector<state::FullDiskAt> find_full_temporary(ssh::Client& client,
                                                   std::span<const ssh::Host> hosts,
                                                   std::chrono::milliseconds limit);

}  // namespace fastgpu::launcher
