#include "ssh/running_command.hpp"

#include <algorithm>

#include "base/login_shell.hpp"
#include "base/outcome.hpp"
#include "base/quote.hpp"
#include "base/units.hpp"
#include "ssh/libssh2_link.hpp"
#include "ssh/openssh_link.hpp"

namespace fastgpu::ssh {
namespace {

using namespace std::chrono_literals;

// The number of packets that one task may move before others have their turn.
constexpr int kTurn = 64;
constexpr auto kReconnectPause = 100ms;
/// The limit for the first answer over a connection that was idle. The host, or a device on the
/// way, may have forgotten it.
constexpr auto kIdleTimeout = 3s;

/// Returns a script that first writes the marks to both outputs, to separate the answer from the
/// output of startup files.
///
/// OpenSSH's client does not report the signal that ended a command. For such hosts, an outer shell
/// turns the signal into a status.
std::string marked(const Task& task, const std::string& out_mark, const std::string& err_mark) {
  // The outer shell must not report that the inner one was killed.
  const std::string script =
      task.host.openssh
          ? "exec 3>&2 2>/dev/null; /bin/sh -c " + shell_quote(task.command) + " 2>&3 3>&-; exit $?"
          : task.command;
  return login_shell_command(print_marks(out_mark, err_mark) + script);
}

Clock::time_point after(Clock::time_point now, std::chrono::milliseconds limit) {
  return limit.count() == 0 ? Clock::time_point::max() : now + limit;
}

}  // namespace

RunningCommand::RunningCommand(const Task& task, const RunOptions& options,
                               const Timeouts& timeouts, Identities& identities,
                               IdleConnections& idle, time_point now)
    : task_(task),
      options_(options),
      timeouts_(timeouts),
      identities_(identities),
      idle_(idle),
      connect_until_(after(now, timeouts.connect)),
      run_until_(after(now, options.timeout)),
      output_{Output::out, task.on_stdout, Preamble(out_mark_)},
      errors_{Output::err, task.on_stderr, Preamble(err_mark_)} {}

pollfd RunningCommand::wanted() const {
  return link_ ? link_->wanted() : pollfd{-1, 0, 0};
}

RunningCommand::time_point RunningCommand::wake_at() const {
  if (more_ || phase_ == Phase::ended) return time_point::min();
  const auto connecting = phase_ < Phase::running ? connect_until_ : time_point::max();
  const auto answering = phase_ == Phase::opening ? idle_until_ : time_point::max();
  const auto running = why_ ? grace_until_ : std::min({run_until_, begin_until_, silent_until()});
  const auto starting = link_                                ? time_point::max()
                        : reconnect_at_ == time_point::max() ? time_point::min()
                                                             : reconnect_at_;
  return std::min({connecting, answering, running, starting});
}

bool RunningCommand::step(time_point now, std::span<char> scratch) {
  try {
    more_ = false;
    if (link_) link_->woken();
    advance(now, scratch);
    if (link_) link_->flush();
    if (phase_ != Phase::ended) check_time(now);
  } catch (const Error& e) {
    end(why_.value_or(e));
  } catch (const std::exception& e) {
    end(Error(ErrorKind::internal, place(task_.host) + ": " + e.what()));
  }
  return phase_ == Phase::ended;
}

void RunningCommand::advance(time_point now, std::span<char> scratch) {
  bool going = true;
  while (going) {
    switch (phase_) {
      case Phase::connecting:
        going = connect(now);
        break;
      case Phase::opening:
        going = open();
        break;
      case Phase::starting:
        going = start();
        break;
      case Phase::running:
        going = pump(scratch);
        break;
      case Phase::closing:
        going = close();
        break;
      case Phase::ended:
        going = false;
        break;
    }
  }
}

void RunningCommand::check_time(time_point now) {
  if (phase_ == Phase::opening && now >= idle_until_ && now < connect_until_)
    more_ = connect_anew();
  if (phase_ < Phase::running && now >= connect_until_)
    throw link_ ? link_->timed_out(to_string(timeouts_.connect))
                : Error(ErrorKind::transient, place(task_.host) + ": closes every connection");
  if (why_ && now >= grace_until_) throw *why_;
  if (!why_ && now >= run_until_) wind_down(too_late(), now);
  if (!why_ && now >= begin_until_)
    wind_down(not_begun(to_string(timeouts_.answer) + " (FASTGPU_ANSWER_TIMEOUT)"), now);
  if (!why_ && now >= silent_until()) wind_down(too_silent(), now);
}

bool RunningCommand::connect(time_point now) {
  if (!link_) {
    if (reconnect_at_ != time_point::max() && now < reconnect_at_) return false;
    link_ = new_link(now);
  }
  try {
    if (!link_->connect()) return false;
  } catch (const Error& e) {
    if (!reconnect_later(e, now)) throw;
    return false;
  }
  phase_ = Phase::opening;
  return true;
}

std::unique_ptr<Link> RunningCommand::new_link(time_point now) {
  std::string line = marked(task_, out_mark_, err_mark_);
  if (task_.host.openssh)
    return std::make_unique<OpenSshLink>(task_.host, std::move(line), timeouts_.connect);
  std::unique_ptr<Connection> connection;
  if (takes_idle_) connection = idle_.take(task_.host, now);
  was_idle_ = connection != nullptr;
  if (was_idle_) idle_until_ = now + kIdleTimeout;
  if (!was_idle_) connection = std::make_unique<Connection>(task_.host, identities_);
  return std::make_unique<Libssh2Link>(std::move(connection), std::move(line));
}

/// Schedules another attempt if the host closed the connection without a message, which an sshd
/// does if too many logins are in progress (MaxStartups).
bool RunningCommand::reconnect_later(const Error& why, time_point now) {
  if (why.kind() != ErrorKind::transient || !link_->turned_away()) return false;
  if (now + kReconnectPause >= connect_until_) return false;
  link_.reset();
  reconnect_at_ = now + kReconnectPause;
  return true;
}

/// Replaces an idle connection that has died. The host has received no request over it.
bool RunningCommand::connect_anew() {
  link_.reset();
  was_idle_ = false;
  takes_idle_ = false;
  idle_until_ = time_point::max();
  phase_ = Phase::connecting;
  return true;
}

bool RunningCommand::open() {
  try {
    if (!link_->open()) return false;
  } catch (const Error&) {
    if (was_idle_ && link_->lost()) return connect_anew();
    throw;
  }
  phase_ = Phase::starting;
  return true;
}

bool RunningCommand::start() {
  if (!link_->start()) return false;
  phase_ = Phase::running;
  moved_at_ = std::chrono::steady_clock::now();
  begin_until_ = after(moved_at_, timeouts_.answer);
  return true;
}

bool RunningCommand::pump(std::span<char> scratch) {
  const bool out = pump_output(output_, scratch);
  const bool err = pump_output(errors_, scratch);
  more_ = out || err;
  if (phase_ == Phase::running) pump_input();
  if (phase_ == Phase::ended || more_ || !link_->at_end()) return false;
  phase_ = Phase::closing;
  return true;
}

/// Returns true if there may be more output right now.
bool RunningCommand::pump_output(Stream& stream, std::span<char> scratch) {
  for (int turn = 0; turn < kTurn; ++turn) {
    const std::size_t size = link_->read(stream.id, scratch);
    if (size == 0) return false;
    moved_at_ = std::chrono::steady_clock::now();
    const bool had_begun = output_.preamble.ended();
    pass(stream, stream.preamble.behind({scratch.data(), size}));
    if (had_begun || !output_.preamble.ended()) continue;
    begin_until_ = time_point::max();
    if (output_.preamble.text().find("\n" + err_mark_) != std::string::npos)
      wind_down(one_stream(), moved_at_);
  }
  return true;
}

void RunningCommand::pass(Stream& stream, std::string_view piece) {
  if (silenced_ || piece.empty()) return;
  try {
    stream.passed += piece.size();
    if (stream.passed > task_.most_output) throw too_long();
    if (stream.sink) stream.sink(piece);
  } catch (const Error& e) {
    silenced_ = true;
    wind_down(e, moved_at_);
  }
}

void RunningCommand::pump_input() {
  if (input_closed_) return;
  // A start-up file that reads would get what is for the command.
  const bool has_begun = output_.preamble.ended() || why_;
  if (task_.next_input && !has_begun) return;
  for (int turn = 0; turn < kTurn; ++turn) {
    if (!link_->can_write()) return;
    if (input_at_ == input_.size() && !refill_input()) return;
    const auto size = link_->write(std::string_view(input_).substr(input_at_));
    if (!size) {  // The command has ended, or has closed its input.
      input_closed_ = true;
      return;
    }
    if (*size == 0) return;
    input_at_ += *size;
    moved_at_ = std::chrono::steady_clock::now();
  }
  more_ = true;
}

/// Returns false if there is nothing to send now.
bool RunningCommand::refill_input() {
  if (task_.next_input && !input_given_ && !why_) {
    try {
      std::optional<std::string> piece = task_.next_input();
      input_given_ = !piece.has_value();
      input_at_ = 0;
      input_ = std::move(piece).value_or("");
      const bool none_yet = !input_given_ && input_.empty();
      more_ = none_yet && options_.wake < 0;
      if (!input_given_) return !none_yet;
    } catch (const Error& e) {
      wind_down(e, std::chrono::steady_clock::now());
      return false;
    }
  }
  if (!task_.hold_input_open || why_) close_input();
  return false;
}

void RunningCommand::close_input() {
  input_closed_ = true;
  input_.clear();
  input_at_ = 0;
  link_->close_input();
}

bool RunningCommand::close() {
  const std::optional<Exit> exit = link_->closed();
  if (!exit) return false;
  if (why_) {
    can_reuse_link_ = true;  // It was asked to end, and has.
    end(*why_);
    return false;
  }
  can_reuse_link_ = output_.preamble.ended();
  if (can_reuse_link_)
    end(*exit);
  else
    end(not_run(*exit));
  return false;
}

void RunningCommand::wind_down(const Error& why, time_point now) {
  if (why_ || phase_ == Phase::ended) return;
  why_ = why;
  // A command whose input has ended cannot be notified, so that waiting for it would be useless.
  const bool can_tell = (phase_ == Phase::running || phase_ == Phase::closing) && !input_closed_;
  if (!can_tell) {
    end(why);
    return;
  }
  grace_until_ = now + options_.grace;
  close_input();
  link_->flush();
}

RunningCommand::time_point RunningCommand::silent_until() const {
  const bool is_running = moved_at_ != time_point::max();
  const bool is_watched = options_.silence.count() > 0 && is_running;
  const auto until = is_watched ? moved_at_ + options_.silence : time_point::max();
  const bool has_begun = is_running && output_.preamble.ended();
  return task_.silence.count() > 0 && has_begun ? std::min(until, moved_at_ + task_.silence)
                                                : until;
}

Error RunningCommand::too_late() const {
  const bool has_asked = moved_at_ != time_point::max();
  if (has_asked && !output_.preamble.ended()) return not_begun(to_string(options_.timeout));
  return {ErrorKind::timeout,
          place(task_.host) + ": not finished after " + to_string(options_.timeout)};
}

Error RunningCommand::not_begun(const std::string& limit) const {
  const std::string said = in_one_line(output_.preamble.text());
  return {ErrorKind::timeout, place(task_.host) + ": the login shell of " + task_.host.user +
                                  " has not begun our command within " + limit +
                                  ": one of its start-up files, such as ~/.bashrc, may be "
                                  "waiting, or reading the standard input" +
                                  (said.empty() ? "" : "; it printed: " + said)};
}

/// Returns the error for a shell whose two outputs are one.
Error RunningCommand::one_stream() const {
  return link_->error(ErrorKind::denied,
                      "a start-up file of the login shell of " + task_.host.user +
                          ", such as ~/.bashrc, sends the standard error to the standard output "
                          "(`exec 2>&1`): let it do so in interactive shells only");
}

Error RunningCommand::too_silent() const {
  if (task_.silence.count() > 0)
    return {ErrorKind::timeout,
            place(task_.host) + ": no sign of life for " + to_string(task_.silence)};
  return {ErrorKind::timeout, place(task_.host) + ": no answer for " + to_string(options_.silence) +
                                  " (FASTGPU_ANSWER_TIMEOUT)"};
}

Error RunningCommand::too_long() const {
  return link_->error(ErrorKind::remote, "sent more than " + to_string(Bytes{task_.most_output}) +
                                             " where an answer was expected");
}

/// Returns the error for a login shell that ended without running our command. The account may have
/// no shell, a ForceCommand may apply, or a startup file may have failed.
Error RunningCommand::not_run(const Exit& exit) const {
  std::string said = in_one_line(output_.preamble.text());
  if (said.empty()) said = in_one_line(errors_.preamble.text());
  const std::string how =
      exit.signal.empty() ? "exit code " + std::to_string(exit.code()) : "signal " + exit.signal;
  return link_->error(ErrorKind::denied,
                      "the login shell of " + task_.host.user + " ended with " + how +
                          " and did not run our command" +
                          (said.empty() ? ", without a word" : "; it printed: " + said));
}

std::unique_ptr<Connection> RunningCommand::take_connection() {
  if (phase_ != Phase::ended || !can_reuse_link_) return nullptr;
  return link_->take_connection();
}

void RunningCommand::end(Outcome<Exit> result) {
  result_ = std::move(result);
  phase_ = Phase::ended;
}

}  // namespace fastgpu::ssh
