// The life of a node: sshd runs, orphans are reaped, SIGTERM ends everything in order.
#pragma once

#include <string>

namespace fastgpu::provision::local {

/// Blocks the signals that `supervise` waits for. Called before the first child is made.
void block_signals();

/// Starts sshd and returns when it listens. Throws with the last line of its log if it ends.
int start_sshd(const std::string& program);

/// Reaps, restarts an sshd that has died, and returns after SIGTERM, with no other process left.
void supervise(const std::string& sshd_program, int sshd);

}  // namespace fastgpu::provision::local
