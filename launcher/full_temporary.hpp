// Nodes whose directory of temporary files is full or cannot be written, a cause of mpirun's
// failures that its messages do not name.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/job_outcome.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// Returns the command that tries to write a small file in $TMPDIR or /tmp. If that fails, it
/// prints the path of the directory, and the reason on the next line.
std::string temporary_room_command();

/// Returns the faults in the answers to that command. Ignores nodes that do not answer.
std::vector<TemporaryFault> temporary_faults_in(std::span<const NodeAnswer> answers);

/// Asks the hosts for their faults. Waits for at most `limit`.
std::vector<TemporaryFault> find_temporary_faults(ssh::Client& client,
                                                  std::span<const ssh::Host> hosts,
                                                  std::chrono::milliseconds limit);

}  // namespace fastgpu::launcher
