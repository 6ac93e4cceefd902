// The interface for commands on many hosts at once. The implementation is ssh/ssh_client.hpp; tests
// use fakes/fake_ssh.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// How a remote command ended.
struct Exit {
  int status = 0;        ///< The status from the remote shell; 0 if a signal ended the command.
  std::string signal{};  ///< "KILL", "SEGV", ... without "SIG"; empty after a normal exit.

  /// Returns the code that a shell would show: the status, or 128 + the signal's number.
  int code() const noexcept;
};

/// The longest answer of a host, and the limit of every output that is kept in memory.
inline constexpr std::uint64_t kMostAnswer = 64ULL << 20;
/// The limit for output that is passed on as it arrives and is not kept.
inline constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

/// One command on one host.
struct Task {
  Host host;
  std::string command;  ///< A script for /bin/sh, independent of the login shell; see shell_join().
  /// Called with output as it arrives, in pieces of any size. Null discards the output.
  std::function<void(std::string_view)> on_stdout{};
  std::function<void(std::string_view)> on_stderr{};
  /// Returns the next piece of standard input. Called when there is room. Absent at the end of the
  /// input. An empty piece means that no input is ready yet: see RunOptions::wake. Null for no
  /// input.
  std::function<std::optional<std::string>()> next_input{};
  /// Keeps standard input open after the last piece, and closes it when the run is cancelled or
  /// times out. A supervisor on the host then ends the programs that it started.
  bool hold_input_open = false;
  /// Ends the command, once it has begun, if no byte is sent in either direction for this long; 0
  /// for no limit. For commands with regular signs of life.
  std::chrono::milliseconds silence{0};
  /// The limit for each stream. If a host sends more, the task ends with ErrorKind::remote.
  std::uint64_t most_output = kMostAnswer;
};

/// The default time limits of a host.
struct Timeouts {
  std::chrono::milliseconds connect{10'000};  ///< The limit until we are logged in.
  std::chrono::milliseconds answer{60'000};  ///< The limit from the login until our command starts.
};

struct RunOptions {
  int width = 64;  ///< The number of sessions open at once.
  std::optional<std::chrono::milliseconds> connect_timeout{};  ///< Absent for Timeouts::connect.
  /// The limit for each task from its start; 0 for no limit.
  std::chrono::milliseconds timeout{0};
  /// A running command fails if no byte is sent in either direction for this long; 0 for no limit.
  /// For commands that send data all the time.
  std::chrono::milliseconds silence{0};
  /// The time that a remote command gets to end by itself after a cancel or a timeout.
  std::chrono::milliseconds grace{3'000};
  /// An eventfd, borrowed. After it has been signalled, tasks whose next_input returned an empty
  /// piece are asked again. Without an eventfd they are asked at once.
  int wake = -1;
  /// Called once we are logged in to the host of the task with the index. A task that ends at once
  /// may be left out.
  std::function<void(std::size_t)> on_login{};
  /// Receives the outcome of each task as it ends, with the index of the task.
  std::function<void(std::size_t, const HostResult<Exit>&)> on_finished{};
  /// Keeps the connections for the next run with the same client and hosts.
  bool keeps_connections = false;
};

/// Runs tasks. Callbacks are called on the caller's thread. One run at a time per object.
class Client {
 public:
  virtual ~Client() = default;

  /// Runs all tasks and returns one outcome each, in the order of `tasks`. The kind of a failure:
  /// transient if the connection fails, denied for a wrong host key or a refused key, timeout for a
  /// passed limit, interrupted after a cancel. An exception of a callback ends its task with that
  /// error. Does not throw for the failure of a host.
  virtual std::vector<HostResult<Exit>> run(std::vector<Task> tasks, const RunOptions& options,
                                            const Cancel& cancel) = 0;
};

}  // namespace fastgpu::ssh
