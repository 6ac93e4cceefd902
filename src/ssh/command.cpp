#include "ssh/command.hpp"

#include <libssh2.h>

#include <algorithm>

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

Command::Command(const Task& task, const RunOptions& options, Identities& identities,
                 IdleConnections& idle, time_point now)
    : task_(task),
      options_(options),
      identities_(identities),
      idle_(idle),
      connect_until_(after(now, options.connect_timeout)),
      run_until_(after(now, options.timeout)) {}

pollfd Command::wanted() const {
  return connection_ ? connection_->wanted() : pollfd{-1, 0, 0};
}

Command::time_point Command::wake_at() const {
  if (more_ || phase_ == Phase::ended) return time_point::min();
  const auto connecting = phase_ < Phase::running ? connect_until_ : time_point::max();
  const auto answering = phase_ == Phase::opening ? idle_until_ : time_point::max();
  const auto running = why_ ? grace_until_ : run_until_;
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
        ? connection_->timed_out(to_string(options_.connect_timeout))
        : Error(ErrorKind::transient, place(task_.host) + ": closes every connection");
  if (why_ && now >= grace_until_) throw *why_;
  if (!why_ && now >= run_until_)
    wind_down(Error(ErrorKind::timeout,
                    place(task_.host) + ": not finished after " + to_string(options_.timeout)),
              now);
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
  if (task_.command.size() > kLongestCommand)
    throw connection_->error(ErrorKind::usage,
                             "the command has " + std::to_string(task_.command.size()) +
                                 " bytes; SSH carries at most " + std::to_string(kLongestCommand));
  const int code = libssh2_channel_process_startup(channel_.get(), "exec", 4, task_.command.data(),
                                                   static_cast<unsigned>(task_.command.size()));
  if (code == LIBSSH2_ERROR_EAGAIN) return false;
  if (code != 0)
    throw connection_->error(ErrorKind::remote,
                             "refuses to run commands: " + connection_->session().last_error());
  phase_ = Phase::running;
  return true;
}

bool Command::pump(std::span<char> scratch) {
  const bool out = pump_output(0, task_.on_stdout, scratch);
  const bool err = pump_output(SSH_EXTENDED_DATA_STDERR, task_.on_stderr, scratch);
  more_ = out || err;
  if (phase_ == Phase::running) pump_input();
  if (phase_ == Phase::ended || more_ || libssh2_channel_eof(channel_.get()) == 0) return false;
  phase_ = Phase::closing;
  return true;
}

/// True where there may be more at once.
bool Command::pump_output(int stream, const std::function<void(std::string_view)>& sink,
                          std::span<char> scratch) {
  for (int turn = 0; turn < kTurn; ++turn) {
    const ssize_t size =
        libssh2_channel_read_ex(channel_.get(), stream, scratch.data(), scratch.size());
    if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return false;
    if (size < 0) throw lost();
    if (!sink || silenced_) continue;
    try {
      sink({scratch.data(), static_cast<std::size_t>(size)});
    } catch (const Error& e) {
      silenced_ = true;
      wind_down(e, std::chrono::steady_clock::now());
    }
  }
  return true;
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
  } else {
    end(exit_of(channel_.get()));
  }
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
