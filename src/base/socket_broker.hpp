// Sockets of another network namespace, handed out by a process there through a Unix socket.
//
// A socket always belongs to the network in which it was made, whichever process has it. So a
// program that cannot enter a namespace still reaches the hosts there, by a socket from the
// namespace's broker.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu {

/// Opens a Unix socket that listens at `path`, which may have any length. Replaces an earlier file
/// there.
UniqueFd listen_for_sockets(const std::filesystem::path& path);

/// Connects to the broker at `path`. The result is empty if no process listens there.
UniqueFd connect_to_broker(const std::filesystem::path& path);

/// Sends a new TCP socket of our network to the client. Returns false if the client has gone.
bool send_socket(const UniqueFd& client) noexcept;

/// Returns the TCP socket from the broker, which is not connected yet; empty if the other side has
/// gone. Waits for at most 5 s.
UniqueFd receive_socket(const UniqueFd& broker);

}  // namespace fastgpu
