// Questions to the kernel about one TCP connection. No function waits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace fastgpu::comm {

/// Returns this host's address of a connection, with its zone if it has one.
std::string local_address(int socket);

/// Returns whether a connection does not leave this host.
bool is_within_host(int socket) noexcept;

/// Returns true if the other side's kernel has not got all that was written, and may still get it.
bool is_on_its_way(int socket);

/// Returns the bytes that were written and that the other side's kernel has not confirmed; absent
/// if the socket does not count them.
std::optional<std::size_t> bytes_on_their_way(int socket) noexcept;

/// Returns true while TCP sends the same again, or asks the other side for room.
bool is_unacknowledged(int socket) noexcept;

/// Returns true if the connection is unacknowledged, and the other side's kernel has acknowledged
/// nothing for a quarter of a second.
bool is_silent(int socket) noexcept;

}  // namespace fastgpu::comm
