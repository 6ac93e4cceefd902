// Sockets of another network namespace, handed out by a process there through a Unix socket.
//
// A socket belongs for ever to the network it was made in, whoever holds it. So a program that may
// not enter a namespace still reaches what is in there, by a socket from its door.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu {

/// A Unix socket that listens at `path`, of any length, in place of what lay there.
UniqueFd open_door(const std::filesystem::path& path);

/// Connects to the door at `path`; empty where nobody listens there.
UniqueFd knock(const std::filesystem::path& path);

/// Gives the one who has knocked a new TCP socket of our network; false where he has gone.
bool hand_socket(const UniqueFd& visitor) noexcept;

/// The TCP socket that was handed to us, not connected yet; empty where the other side has gone.
/// Waits 5 s at most.
UniqueFd take_socket(const UniqueFd& door);

}  // namespace fastgpu
