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

/// How a remote command ended.
struct Exit {
  int status = 0;        ///< As the remote shell reports it; 0 where a signal ended it.
  std::string signal{};  ///< "KILL", "SEGV", ... without "SIG"; empty where it exited by itself.

  /// The code a shell would show: the status, or 128 + the signal's number.
  int code() const noexcept;
};

/// What a host may send as an answer. Nothing that is kept in memory is longer.
inline constexpr std::uint64_t kMostAnswer = 64ULL << 20;
/// For output that is passed on as it comes, and not kept.
inline constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

/// One command on one host.
struct Task {
  Host host;
  std::string command;  ///< A script for /bin/sh, whatever the login shell; see shell_join.
  /// Called with output as it arrives, in pieces of no particular size. Null discards.
  std::function<void(std::string_view)> on_stdout{};
  std::function<void(std::string_view)> on_stderr{};
  /// The next piece of standard input, asked for when there is room; absent is the end. An empty
  /// piece means that there is none yet: see RunOptions::wake. Null means no input.
  std::function<std::optional<std::string>()> next_input{};
  /// Keeps standard input open after the last piece, and closes it when the run is cancelled or
  /// timed out. A supervisor at the far end takes that as the order to end what it started.
  bool hold_input_open = false;
  /// Bytes of each stream; a host that sends more ends the task with ErrorKind::remote.
  std::uint64_t most_output = kMostAnswer;
};

/// How long a host may take, where a run does not say it.
struct Patience {
  std::chrono::milliseconds connect{10'000};  ///< Until we are logged in.
  std::chrono::milliseconds answer{60'000};   ///< Until its login shell has begun our command.
};

struct RunOptions {
  int width = 64;                                              ///< Sessions open at once.
  std::optional<std::chrono::milliseconds> connect_timeout{};  ///< Absent: the client's patience.
  std::chrono::milliseconds timeout{0};  ///< For each task from its start; 0 is without end.
  /// The longest time without a byte in either direction once a command runs, for commands that
  /// always have something to say; 0 is without end.
  std::chrono::milliseconds silence{0};
  /// After a cancel or a time-out, how long a remote command may take to end by itself.
  std::chrono::milliseconds grace{3'000};
  /// An eventfd, borrowed. Tasks whose next_input gave an empty piece are asked again once it has
  /// been written to; without one, at once.
  int wake = -1;
  /// Told of each task as it ends, with its index in the list of tasks.
  std::function<void(std::size_t, const HostResult<Exit>&)> on_finished{};
  /// For a further run of the same client on the same hosts, which then needs no logins.
  bool keeps_connections = false;
};

/// Callbacks run on the caller's thread. One run at a time per object.
class Client {
 public:
  virtual ~Client() = default;

  /// Runs every task and returns one outcome each, in the order of `tasks`. A failure to connect is
  /// transient, a wrong host key or refused key denied, a passed time-out timeout, a cancel
  /// interrupted. What callbacks throw ends that task with it. Throws for no host.
  virtual std::vector<HostResult<Exit>> run(std::vector<Task> tasks, const RunOptions& options,
                                            const Cancel& cancel) = 0;
};

}  // namespace fastgpu::ssh
