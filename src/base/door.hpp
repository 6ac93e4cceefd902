// Sockets of another network namespace, handed out by a process there through a Unix socket.
//
// A socket belongs for ever to the network it was made in, whichever process has it. So a program
// that may not enter a namespace still reaches its hosts, by a socket from its door.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu {

/// Opens a Unix socket that listens at `path`, of any length, in place of an earlier file there.
UniqueFd open_door(const std::filesystem::path& path);

/// Connects to the door at `path`; empty if no process listens there.
UniqueFd knock(const std::filesystem::path& path);

/// Sends the visitor a new TCP socket of our network; returns false if it has gone.
bool hand_socket(const UniqueFd& visitor) noexcept;

/// Returns the TCP socket from the door, not connected yet; empty if the other side has gone. Waits
/// 5 s at most.
UniqueFd take_socket(const UniqueFd& door);

}  // namespace fastgpu
