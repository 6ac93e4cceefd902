// The transport of one command to its host, over libssh2 or OpenSSH's client.
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

/// The steps of a command, in this order: connect, open, start, then reads and writes, then closed.
/// All calls are non-blocking. Every Error names the host; an error about a lost connection is
/// transient.
class Link {
 public:
  virtual ~Link() = default;

  /// Proceeds as far as possible. Returns true once we are logged in.
  virtual bool connect() = 0;
  /// Returns true if the host closed the connection without a message, which an sshd does if too
  /// many logins are in progress (MaxStartups).
  virtual bool turned_away() const = 0;
  virtual bool lost() const = 0;

  /// Proceeds with opening a channel for the command. Returns true once it is open.
  virtual bool open() = 0;
  /// Proceeds with starting the command. Returns true once the login shell has received it.
  virtual bool start() = 0;

  /// Reads output. Returns the number of bytes; 0 if nothing can be read now or any more.
  virtual std::size_t read(Output from, std::span<char> buffer) = 0;
  /// Returns true once both outputs have ended and have been read.
  virtual bool at_end() const = 0;

  /// Returns true if there is room for input. Otherwise the descriptor reports when there is.
  virtual bool can_write() = 0;
  /// Writes input. Returns the number of bytes taken, 0 if none fit now; absent if the command has
  /// ended or has closed its input.
  virtual std::optional<std::size_t> write(std::string_view bytes) = 0;
  virtual void close_input() = 0;

  /// Returns how the command ended; absent until that is known. Call it only once at_end() is true.
  virtual std::optional<Exit> closed() = 0;

  /// Returns the descriptor to wait for. After it has reported, call woken(), the steps, and
  /// flush().
  virtual pollfd wanted() const = 0;
  virtual void woken() = 0;
  virtual void flush() = 0;

  /// Returns an error with the host's name before `reason`.
  virtual Error error(ErrorKind kind, const std::string& reason) const = 0;
  /// Returns the error for a login that was not complete within `limit`.
  virtual Error timed_out(const std::string& limit) const = 0;

  /// Closes the command's channel. Returns the connection if another command can use it.
  virtual std::unique_ptr<Connection> take_connection() = 0;
};

}  // namespace fastgpu::ssh
