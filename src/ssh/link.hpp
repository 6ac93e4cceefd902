// One command's way to its host and back, over libssh2 or OpenSSH's client.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "ssh/client.hpp"

namespace fastgpu::ssh {

class Connection;

enum class Output : std::uint8_t { out, err };

/// The steps in their order: connect, open, start, then reads and writes, then closed. All calls
/// are non-blocking. Every Error names the host; one about a lost connection is transient.
class Link {
 public:
  virtual ~Link() = default;

  /// Proceeds as far as possible; returns true once we are logged in.
  virtual bool connect() = 0;
  /// Returns true if the host closed the connection without a message, as an sshd with many logins
  /// under way does (MaxStartups).
  virtual bool turned_away() const = 0;
  virtual bool lost() const = 0;

  /// Proceeds towards a channel for the command; returns true once it is open.
  virtual bool open() = 0;
  /// Proceeds towards a running command; returns true once the login shell has received it.
  virtual bool start() = 0;

  /// Returns the number of bytes read; 0 if nothing can be read now or later.
  virtual std::size_t read(Output from, std::span<char> buffer) = 0;
  /// Returns true once both outputs have ended and have been read.
  virtual bool at_end() const = 0;

  /// Returns true if there is room for input; else the descriptor reports later room.
  virtual bool can_write() = 0;
  /// Returns the number of bytes taken, 0 if none fit now. Absent: the command has ended or has
  /// closed its input.
  virtual std::optional<std::size_t> write(std::string_view bytes) = 0;
  virtual void close_input() = 0;

  /// Returns how the command ended; absent until that is known. Call it only at_end().
  virtual std::optional<Exit> closed() = 0;

  /// Returns the descriptor to wait for. After it has reported, call woken(), the steps, and
  /// flush().
  virtual pollfd wanted() const = 0;
  virtual void woken() = 0;
  virtual void flush() = 0;

  /// Returns an error with the host before `reason`.
  virtual Error error(ErrorKind kind, const std::string& reason) const = 0;
  /// Returns the error for a host that was not logged in to within `limit`.
  virtual Error timed_out(const std::string& limit) const = 0;

  /// Ends the command's channel; returns the connection if it may serve another command.
  virtual std::unique_ptr<Connection> take_connection() = 0;
};

}  // namespace fastgpu::ssh
