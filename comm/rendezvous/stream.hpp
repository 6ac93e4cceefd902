// Whole messages over a non-blocking socket, with a deadline.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"

namespace fastgpu::comm {

/// Throws ErrorKind::transient if the other side closes, ErrorKind::timeout at the deadline.
void send_all(int socket, std::span<const std::byte> message, Deadline deadline);
void receive_all(int socket, std::span<std::byte> message, Deadline deadline);

/// Returns whether a message, or the end of the connection, has come at the deadline or before.
bool is_readable(int socket, Deadline deadline);

/// Returns the error as that of a rank that has joined: if its connection is lost, it has gone, and
/// trying again does not help.
Error as_lost(const Error& error);

}  // namespace fastgpu::comm
