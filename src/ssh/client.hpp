// Commands on many hosts at once, as the rest of fastgpu sees them. The implementation is
// ssh/ssh_client.hpp; tests use fakes/fake_ssh.hpp.
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

/// The end of a remote command.
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
  std::string command;  ///< A script for /bin/sh, whatever the login shell; see shell_join.
  /// Called with output as it arrives, in pieces of no particular size. Null discards.
  std::function<void(std::string_view)> on_stdout{};
  std::function<void(std::string_view)> on_stderr{};
  /// Returns the next piece of standard input; called when there is room. Absent is the end. An
  /// empty piece means that no input is ready yet: see RunOptions::wake. Null means no input.
  std::function<std::optional<std::string>()> next_input{};
  /// Keeps standard input open after the last piece, and closes it when the run is cancelled or
  /// times out. A supervisor at the far end then ends what it started.
  bool hold_input_open = false;
  /// The limit of each stream; a host that sends more ends the task with ErrorKind::remote.
  std::uint64_t most_output = kMostAnswer;
};

/// The default time limits of a host.
struct Patience {
  std::chrono::milliseconds connect{10'000};  ///< The limit up to our login.
  std::chrono::milliseconds answer{60'000};   ///< The limit from the login to our command's start.
};

struct RunOptions {
  int width = 64;                                              ///< Sessions open at once.
  std::optional<std::chrono::milliseconds> connect_timeout{};  ///< Absent: Patience::connect.
  std::chrono::milliseconds timeout{0};  ///< Each task's limit from its start; 0: unlimited.
  /// The longest time without a byte in either direction once a command runs, for commands that
  /// send all the time; 0 is unlimited.
  std::chrono::milliseconds silence{0};
  /// The time that a remote command gets to end by itself after a cancel or a timeout.
  std::chrono::milliseconds grace{3'000};
  /// An eventfd, borrowed. Tasks whose next_input returned an empty piece are asked again once this
  /// has been written to; without an eventfd, at once.
  int wake = -1;
  /// Receives each task's outcome as it ends, with its index in the list of tasks.
  std::function<void(std::size_t, const HostResult<Exit>&)> on_finished{};
  /// Keeps the logins for a further run of the same client on the same hosts.
  bool keeps_connections = false;
};

/// Callbacks run on the caller's thread. One run at a time per object.
class Client {
 public:
  virtual ~Client() = default;

  /// Runs every task and returns one outcome each, in the order of `tasks`. A failure to connect is
  /// transient, a wrong host key or a refused key denied, a passed limit timeout, a cancel
  /// interrupted. An exception of a callback ends its task with that error. Throws for no host.
  virtual std::vector<HostResult<Exit>> run(std::vector<Task> tasks, const RunOptions& options,
                                            const Cancel& cancel) = 0;
};

}  // namespace fastgpu::ssh
