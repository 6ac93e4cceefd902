// One running task: connects, starts the command, moves its bytes, and finds out how it ended.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/outcome.hpp"
#include "ssh/client.hpp"
#include "ssh/connection.hpp"
#include "ssh/idle_connections.hpp"
#include "ssh/link.hpp"
#include "ssh/preamble.hpp"

namespace fastgpu::ssh {

/// Runs in a poll loop: call `step` when the descriptor is ready or wake_at() has come. The task
/// and the options are borrowed.
class RunningCommand {
 public:
  using time_point = Clock::time_point;

  RunningCommand(const Task& task, const RunOptions& options, const Timeouts& timeouts,
                 Identities& identities, IdleConnections& idle, time_point now);

  /// Proceeds without blocking. Returns true once the task has ended. `scratch` is a buffer for
  /// output.
  bool step(time_point now, std::span<char> scratch);

  /// Starts to end the task with the error `why`: closes its input and gives it options.grace to
  /// end by itself.
  void wind_down(const Error& why, time_point now);

  pollfd wanted() const;
  /// Returns the time for the next step if the descriptor reports nothing before.
  time_point wake_at() const;
  /// Returns true while the task takes one of the logins that an sshd allows at the same time.
  bool logging_in() const noexcept { return phase_ == Phase::connecting; }

  /// Returns the connection of an ended task if another command may use it; else null.
  std::unique_ptr<Connection> take_connection();

  HostResult<Exit> take_result() { return {task_.host.name, std::move(*result_)}; }

 private:
  enum class Phase : std::uint8_t { connecting, opening, starting, running, closing, ended };

  void advance(time_point now, std::span<char> scratch);
  bool connect(time_point now);
  bool reconnect_later(const Error& why, time_point now);
  bool connect_anew();
  std::unique_ptr<Link> new_link(time_point now);
  bool open();
  bool start();
  bool pump(std::span<char> scratch);
  /// One output stream of the command.
  struct Stream {
    Output id;
    const std::function<void(std::string_view)>& sink;
    Preamble preamble;
    std::uint64_t passed = 0;  ///< The bytes passed on so far.
  };

  bool pump_output(Stream& stream, std::span<char> scratch);
  void pass(Stream& stream, std::string_view piece);
  void pump_input();
  bool refill_input();
  void close_input();
  bool close();
  void check_time(time_point now);
  void end(Outcome<Exit> result);
  time_point silent_until() const;
  Error too_late() const;
  Error not_begun(const std::string& limit) const;
  Error one_stream() const;
  Error too_silent() const;
  Error too_long() const;
  Error not_run(const Exit& exit) const;

  const Task& task_;
  const RunOptions& options_;
  const Timeouts& timeouts_;
  Identities& identities_;
  IdleConnections& idle_;
  std::unique_ptr<Link> link_;
  bool was_idle_ = false;  // The connection has served other tasks, so that it may be dead by now.
  bool takes_idle_ = true;
  Phase phase_ = Phase::connecting;
  time_point connect_until_;
  time_point run_until_;
  time_point reconnect_at_ = time_point::max();
  time_point grace_until_ = time_point::max();
  time_point idle_until_ = time_point::max();
  std::string out_mark_ = new_mark();
  std::string err_mark_ = new_mark();
  std::string line_;  // The command line for the login shell.
  Stream output_;
  Stream errors_;
  time_point begin_until_ = time_point::max();
  time_point moved_at_ = time_point::max();  // The time of the last byte in either direction.
  std::string input_;
  std::size_t input_at_ = 0;
  bool input_given_ = false;  // All of the input was sent; it may still be held open.
  bool input_closed_ = false;
  bool can_reuse_link_ = false;  // The command has ended by itself, if only after a cancel.
  bool more_ = false;            // Stopped to let other tasks continue, although there is more.
  bool silenced_ = false;        // A callback threw, and is not called again.
  std::optional<Error> why_;
  std::optional<Outcome<Exit>> result_;
};

}  // namespace fastgpu::ssh
