#include "ssh/command.hpp"

#include <libssh2.h>

#include <algorithm>

#include "base/login_shell.hpp"
#include "base/units.hpp"

namespace fastgpu::ssh {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kWindow = 4U * 1024 * 1024;   // 1 GB/s over a round trip of 4 ms.
constexpr int kTurn = 64;                        // Packets in or out before others have their turn.
constexpr std::size_t kLongestCommand = 32'000;  // What fits into a packet of libssh2.
constexpr auto kReconnectPause = 100ms;
/// For the first answer over a connection that was idle; the host, or what stands in between, may
/// have forgotten it.
constexpr auto kIdlePatience = 3s;

/// The script first writes the mark to both outputs, so that what start-up files print before can
/// be told from the answer: to the error output first, so that it does not follow the other mark
/// where both are one stream.
std::string marked(const std::string& script, const std::string& mark) {
  return login_shell_command("echo " + mark + " >&2; echo " + mark + "; " + script);
}

Clock::time_point after(Clock::time_point now, std::chrono::milliseconds limit) {
  return limit.count() == 0 ? Clock::time_point::max() : now + limit;
}

}  // namespace

Exit exit_of(_LIBSSH2_CHANNEL* channel) {
  Exit exit;
  char* signal = nullptr;
  std::size_t size = 0;
  libssh2_channel_get_exit_signal(channel, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal != nullptr) {
    exit.signal.assign(signal, size);
    std::free(signal);  // The session was made with the standard allocator.
  } else {
    exit.status = libssh2_channel_get_exit_status(channel);
  }
  return exit;
}

Command::Command(const Task& task, const RunOptions& options, const Patience& patience,
                 Identities& identities, IdleConnections& idle, time_point now)
    : task_(task),
      options_(options),
      patience_(patience),
      identities_(identities),
      idle_(idle),
      connect_until_(after(now, patience.connect)),
      run_until_(after(now, options.timeout)),
      output_{0, task.on_stdout, Preamble(mark_)},
      errors_{SSH_EXTENDED_DATA_STDERR, task.on_stderr, Preamble(mark_)} {}

pollfd Command::wanted() const {
  return connection_ ? connection_->wanted() : pollfd{-1, 0, 0};
}

Command::time_point Command::wake_at() const {
  if (more_ || phase_ == Phase::ended) return time_point::min();
  const auto connecting = phase_ < Phase::running ? connect_until_ : time_point::max();
  const auto answering = phase_ == Phase::opening ? idle_until_ : time_point::max();
  const auto running = why_ ? grace_until_ : std::min({run_until_, begin_until_, silent_until()});
  const auto starting = connection_                          ? time_point::max()
                        : reconnect_at_ == time_point::max() ? time_point::min()
                                                             : reconnect_at_;
  return std::min({connecting, answering, running, starting});
}

bool Command::step(time_point now, std::span<char> scratch) {
  try {
    more_ = false;
    if (connection_) connection_->woken();
    advance(now, scratch);
    if (connection_) connection_->flush();
    if (phase_ != Phase::ended) check_time(now);
  } catch (const Error& e) {
    end(why_.value_or(e));
  } catch (const std::exception& e) {
    end(Error(ErrorKind::internal, place(task_.host) + ": " + e.what()));
  }
  return phase_ == Phase::ended;
}

void Command::advance(time_point now, std::span<char> scratch) {
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

void Command::check_time(time_point now) {
  if (phase_ == Phase::opening && now >= idle_until_ && now < connect_until_)
    more_ = connect_anew();
  if (phase_ < Phase::running && now >= connect_until_)
    throw connection_
        ? connection_->timed_out(to_string(patience_.connect))
        : Error(ErrorKind::transient, place(task_.host) + ": closes every connection");
  if (why_ && now >= grace_until_) throw *why_;
  if (!why_ && now >= run_until_) wind_down(too_late(), now);
  if (!why_ && now >= begin_until_) wind_down(not_begun(), now);
  if (!why_ && now >= silent_until()) wind_down(too_silent(), now);
}

bool Command::connect(time_point now) {
  if (!connection_) {
    if (reconnect_at_ != time_point::max() && now < reconnect_at_) return false;
    if (takes_idle_) connection_ = idle_.take(task_.host, now);
    was_idle_ = connection_ != nullptr;
    if (was_idle_) idle_until_ = now + kIdlePatience;
    if (!was_idle_) connection_ = std::make_unique<Connection>(task_.host, identities_);
  }
  try {
    if (!connection_->advance()) return false;
  } catch (const Error& e) {
    if (!reconnect_later(e, now)) throw;
    return false;
  }
  phase_ = Phase::opening;
  return true;
}

/// An sshd with many logins under way (MaxStartups) closes further ones before it says a word.
bool Command::reconnect_later(const Error& why, time_point now) {
  const bool turned_away = !connection_->past_handshake() && connection_->session().lost();
  if (why.kind() != ErrorKind::transient || !turned_away) return false;
  if (now + kReconnectPause >= connect_until_) return false;
  connection_.reset();
  reconnect_at_ = now + kReconnectPause;
  return true;
}

/// The one that was idle has died, and nothing has been asked of the host yet.
bool Command::connect_anew() {
  connection_.reset();
  was_idle_ = false;
  takes_idle_ = false;
  idle_until_ = time_point::max();
  phase_ = Phase::connecting;
  return true;
}

bool Command::open() {
  LIBSSH2_SESSION* const session = connection_->session().get();
  channel_.reset(libssh2_channel_open_ex(session, "session", 7, kWindow,
                                         LIBSSH2_CHANNEL_PACKET_DEFAULT, nullptr, 0));
  if (channel_) {
    phase_ = Phase::starting;
    return true;
  }
  if (libssh2_session_last_errno(session) == LIBSSH2_ERROR_EAGAIN) return false;
  if (was_idle_ && connection_->session().lost()) return connect_anew();
  throw connection_->error(ErrorKind::transient,
                           "no channel: " + connection_->session().last_error());
}

bool Command::start() {
  if (line_.empty()) line_ = marked(task_.command, mark_);  // Unchanged until it has been sent.
  if (line_.size() > kLongestCommand)
    throw connection_->error(ErrorKind::usage, "the command has " + std::to_string(line_.size()) +
                                                   " bytes; SSH carries at most " +
                                                   std::to_string(kLongestCommand));
  const int code = libssh2_channel_process_startup(channel_.get(), "exec", 4, line_.data(),
                                                   static_cast<unsigned>(line_.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0)
    throw connection_->error(ErrorKind::remote,
                             "refuses to run commands: " + connection_->session().last_error());
  phase_ = Phase::running;
  moved_at_ = std::chrono::steady_clock::now();
  begin_until_ = after(moved_at_, patience_.answer);
  return true;
}

bool Command::pump(std::span<char> scratch) {
  const bool out = pump_output(output_, scratch);
  const bool err = pump_output(errors_, scratch);
  more_ = out || err;
  if (phase_ == Phase::running) pump_input();
  if (phase_ == Phase::ended || more_ || libssh2_channel_eof(channel_.get()) == 0) return false;
  phase_ = Phase::closing;
  return true;
}

/// True where there may be more at once.
bool Command::pump_output(Stream& stream, std::span<char> scratch) {
  for (int turn = 0; turn < kTurn; ++turn) {
    const ssize_t size =
        libssh2_channel_read_ex(channel_.get(), stream.id, scratch.data(), scratch.size());
    if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return false;
    if (size < 0) throw lost();
    moved_at_ = std::chrono::steady_clock::now();
    pass(stream, stream.preamble.behind({scratch.data(), static_cast<std::size_t>(size)}));
    if (output_.preamble.ended()) begin_until_ = time_point::max();
  }
  return true;
}

void Command::pass(Stream& stream, std::string_view piece) {
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

void Command::pump_input() {
  if (input_closed_) return;
  for (int turn = 0; turn < kTurn; ++turn) {
    if (!connection_->session().can_send()) return;
    if (input_at_ == input_.size() && !refill_input()) return;
    const ssize_t size =
        libssh2_channel_write(channel_.get(), input_.data() + input_at_, input_.size() - input_at_);
    if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return;
    if (size < 0 && connection_->session().lost()) throw lost();
    if (size < 0) {  // The command has ended, or has closed its input: nobody reads on.
      input_closed_ = true;
      return;
    }
    input_at_ += static_cast<std::size_t>(size);
    moved_at_ = std::chrono::steady_clock::now();
  }
  more_ = true;
}

/// False where there is nothing to send now.
bool Command::refill_input() {
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

void Command::close_input() {
  input_closed_ = true;
  input_.clear();
  input_at_ = 0;
  libssh2_channel_send_eof(channel_.get());  // Never told to wait: see Session::can_send.
}

bool Command::close() {
  const int code = libssh2_channel_wait_closed(channel_.get());
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0) throw lost();
  if (why_) {
    end(*why_);
    return false;
  }
  const Exit exit = exit_of(channel_.get());
  if (output_.preamble.ended())
    end(exit);
  else
    end(not_run(exit));
  return false;
}

void Command::wind_down(const Error& why, time_point now) {
  if (why_ || phase_ == Phase::ended) return;
  why_ = why;
  // A command whose input has ended already cannot be told: waiting for it would be idle.
  const bool can_tell = (phase_ == Phase::running || phase_ == Phase::closing) && !input_closed_;
  if (!can_tell) {
    end(why);
    return;
  }
  grace_until_ = now + options_.grace;
  close_input();
  connection_->flush();
}

Error Command::lost() const {
  return connection_->error(ErrorKind::transient, "connection lost while the command ran");
}

Command::time_point Command::silent_until() const {
  const bool is_watched = options_.silence.count() > 0 && moved_at_ != time_point::max();
  return is_watched ? moved_at_ + options_.silence : time_point::max();
}

Error Command::too_late() const {
  return {ErrorKind::timeout,
          place(task_.host) + ": not finished after " + to_string(options_.timeout)};
}

Error Command::not_begun() const {
  const std::string said = in_one_line(output_.preamble.text());
  return {ErrorKind::timeout,
          place(task_.host) + ": the login shell of " + task_.host.user +
              " has not begun our command within " + to_string(patience_.answer) +
              " (FASTGPU_ANSWER_TIMEOUT): one of its start-up files may be waiting" +
              (said.empty() ? "" : "; it printed: " + said)};
}

Error Command::too_silent() const {
  return {ErrorKind::timeout, place(task_.host) + ": no answer for " + to_string(options_.silence) +
                                  " (FASTGPU_ANSWER_TIMEOUT)"};
}

Error Command::too_long() const {
  return connection_->error(
      ErrorKind::remote,
      "sent more than " + to_string(Bytes{task_.most_output}) + " where an answer was expected");
}

/// The login shell ended without having run anything of ours: an account without a shell, a
/// ForceCommand, a start-up file that fails.
Error Command::not_run(const Exit& exit) const {
  std::string said = in_one_line(output_.preamble.text());
  if (said.empty()) said = in_one_line(errors_.preamble.text());
  const std::string how =
      exit.signal.empty() ? "exit code " + std::to_string(exit.code()) : "signal " + exit.signal;
  return connection_->error(ErrorKind::denied,
                            "the login shell of " + task_.host.user + " ended with " + how +
                                " and did not run our command" +
                                (said.empty() ? ", without a word" : "; it printed: " + said));
}

std::unique_ptr<Connection> Command::take_connection() {
  if (phase_ != Phase::ended || !std::holds_alternative<Exit>(*result_)) return nullptr;
  channel_.reset();
  connection_->flush();
  if (connection_->session().lost()) return nullptr;
  connection_->session().rest();
  return std::move(connection_);
}

void Command::end(std::variant<Exit, Error> result) {
  result_ = std::move(result);
  phase_ = Phase::ended;
}

}  // namespace fastgpu::ssh
