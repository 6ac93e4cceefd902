#include "ssh/interactive.hpp"

#include <libssh2.h>
#include <unistd.h>

#include <array>

#include "base/clock.hpp"
#include "base/login_shell.hpp"
#include "base/units.hpp"
#include "ssh/connection.hpp"
#include "ssh/escape_keys.hpp"
#include "ssh/libssh2_link.hpp"
#include "ssh/local_side.hpp"
#include "ssh/openssh_session.hpp"

namespace fastgpu::ssh {
namespace {

using std::chrono::milliseconds;
using time_point = Clock::time_point;

/// The maximum number of bytes of output moved at once, so that endless output does not delay the
/// user's keys.
constexpr std::size_t kOutputAtOnce = 256UL * 1024;

class Interactive {
 public:
  Interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel)
      : options_(options),
        cancel_(cancel),
        connection_(host, identities_),
        in_(options.in),
        out_(options.out),
        err_(options.err),
        connect_until_(std::chrono::steady_clock::now() + options.connect_timeout) {}

  Exit run() {
    while (!step())
      wait();
    show_the_rest();
    return exit_of(channel_.get());
  }

 private:
  enum class Phase : std::uint8_t { connecting, opening, environment, terminal, starting, running };

  /// Proceeds without blocking. Returns true once the remote side has ended.
  bool step() {
    if (cancel_.requested()) throw connection_.error(ErrorKind::interrupted, "interrupted");
    connection_.woken();
    while (phase_ != Phase::running && advance()) {
    }
    const bool ended = phase_ == Phase::running && pump();
    connection_.flush();
    if (phase_ != Phase::running && std::chrono::steady_clock::now() >= connect_until_)
      throw connection_.timed_out(to_string(options_.connect_timeout));
    return ended;
  }

  bool advance() {
    switch (phase_) {
      case Phase::connecting:
        if (!connection_.advance()) return false;
        phase_ = Phase::opening;
        return true;
      case Phase::opening:
        return open();
      case Phase::environment:
        return send_variable();
      case Phase::terminal:
        return ask_for_terminal();
      case Phase::starting:
        return start();
      case Phase::running:
        return false;
    }
    return false;
  }

  bool open() {
    LIBSSH2_SESSION* const session = connection_.session().get();
    channel_.reset(libssh2_channel_open_session(session));
    if (!channel_ && libssh2_session_last_errno(session) == LIBSSH2_ERROR_EAGAIN) return false;
    if (!channel_) throw refused("no channel");
    phase_ = Phase::environment;
    return true;
  }

  /// Sends one variable per call. The remote side accepts those that its settings allow and may
  /// refuse the others.
  bool send_variable() {
    if (variables_sent_ == options_.variables.size()) {
      phase_ = options_.terminal ? Phase::terminal : Phase::starting;
      return true;
    }
    const auto& [name, value] = options_.variables[variables_sent_];
    const int code =
        libssh2_channel_setenv_ex(channel_.get(), name.data(), static_cast<unsigned>(name.size()),
                                  value.data(), static_cast<unsigned>(value.size()));
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (connection_.session().lost()) throw lost();
    ++variables_sent_;
    return true;
  }

  bool ask_for_terminal() {
    const WindowSize size = current_size();
    const auto& [type, modes] = *options_.terminal;
    const int code = libssh2_channel_request_pty_ex(
        channel_.get(), type.data(), static_cast<unsigned>(type.size()), modes.data(),
        static_cast<unsigned>(modes.size()), size.columns, size.rows, 0, 0);
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code != 0) throw refused("no terminal");
    phase_ = Phase::starting;
    return true;
  }

  bool start() {
    const std::string command =
        options_.command.empty() ? "" : login_shell_command(options_.command);
    const int code =
        command.empty() ? libssh2_channel_shell(channel_.get())
                        : libssh2_channel_process_startup(channel_.get(), "exec", 4, command.data(),
                                                          static_cast<unsigned>(command.size()));
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code != 0) throw refused("the command is not started");
    phase_ = Phase::running;
    if (options_.on_started) options_.on_started();
    return true;
  }

  bool pump() {
    more_ = pump_output(0, out_);
    more_ = pump_output(SSH_EXTENDED_DATA_STDERR, err_) || more_;
    pump_input();
    pump_size();
    const bool drained = !more_ && !out_.full() && !err_.full();
    if (!drained || libssh2_channel_eof(channel_.get()) == 0) return false;
    const int code = libssh2_channel_wait_closed(channel_.get());
    if (code != 0 && code != LIBSSH2_ERROR_EAGAIN) throw lost();
    return code == 0;
  }

  /// Returns true if it stopped although there is more output, so that other work has its turn.
  bool pump_output(int stream, Outlet& outlet) {
    outlet.write_ready();
    std::array<char, 32UL * 1024> buffer;
    std::size_t moved = 0;
    while (!outlet.full()) {
      if (moved >= kOutputAtOnce) return true;
      const ssize_t size =
          libssh2_channel_read_ex(channel_.get(), stream, buffer.data(), buffer.size());
      if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return false;
      if (size < 0) throw lost();
      moved += static_cast<std::size_t>(size);
      outlet.add({buffer.data(), static_cast<std::size_t>(size)});
      outlet.write_ready();
    }
    return false;
  }

  /// Reads keys even if the remote side accepts nothing: the keys that leave a hanging session are
  /// among them.
  void pump_input() {
    const std::string typed = in_.read_ready();
    if (options_.terminal)
      add_typed(typed);
    else
      in_.add(typed);
    while (!in_.empty() && connection_.session().can_send()) {
      const ssize_t size =
          libssh2_channel_write(channel_.get(), in_.waiting().data(), in_.waiting().size());
      if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return;
      if (size > 0) {
        in_.take(static_cast<std::size_t>(size));
        continue;
      }
      if (connection_.session().lost()) throw lost();
      in_.close();  // The command has ended or has closed its input.
    }
    if (!in_.ended() || !in_.empty() || input_ended_) return;
    input_ended_ = true;
    libssh2_channel_send_eof(channel_.get());
  }

  void add_typed(std::string_view typed) {
    std::string kept;
    keys_.filter(typed, kept);
    in_.add(kept);
    if (keys_.take_help()) out_.add(escape_help());
    if (keys_.leave()) throw connection_.error(ErrorKind::interrupted, "left with ~.");
  }

  void pump_size() {
    if (options_.resize_fd < 0 || !options_.terminal) return;
    std::array<char, 4096> ignored;
    pollfd resized{options_.resize_fd, POLLIN, 0};
    if (::poll(&resized, 1, 0) > 0 &&
        ::read(options_.resize_fd, ignored.data(), ignored.size()) > 0)
      size_changed_ = true;
    if (!size_changed_) return;
    const WindowSize size = current_size();
    const int code = libssh2_channel_request_pty_size(channel_.get(), size.columns, size.rows);
    // The session is in the middle of a key exchange.
    size_changed_ = code == LIBSSH2_ERROR_EAGAIN;
  }

  void show_the_rest() {
    while (!out_.empty() || !err_.empty()) {
      cancel_.check();
      std::array<pollfd, 3> polled = {{{cancel_.fd(), POLLIN, 0}, out_.wanted(), err_.wanted()}};
      ::poll(polled.data(), polled.size(), -1);
      out_.write_ready();
      err_.write_ready();
    }
  }

  WindowSize current_size() const {
    return options_.window_size ? options_.window_size() : WindowSize{};
  }

  void wait() {
    const bool running = phase_ == Phase::running;
    std::array<pollfd, 6> polled = {{
        out_.full() || err_.full() ? pollfd{-1, 0, 0} : connection_.wanted(),
        {cancel_.fd(), POLLIN, 0},
        running ? in_.wanted() : pollfd{-1, 0, 0},
        {running && options_.terminal ? options_.resize_fd : -1, POLLIN, 0},
        out_.wanted(),
        err_.wanted(),
    }};
    const auto rest =
        std::chrono::ceil<milliseconds>(connect_until_ - std::chrono::steady_clock::now());
    const auto left = std::max<milliseconds::rep>(rest.count(), 0);
    const auto limit = more_ ? 0 : running ? -1 : left;
    ::poll(polled.data(), polled.size(), static_cast<int>(limit));
  }

  Error refused(const std::string& what) const {
    return connection_.error(ErrorKind::remote, what + ": " + connection_.session().last_error());
  }
  Error lost() const { return connection_.error(ErrorKind::transient, "connection lost"); }

  const InteractiveOptions& options_;
  const Cancel& cancel_;
  Identities identities_;
  Connection connection_;
  Channel channel_;  // Destroyed before the connection.
  Inlet in_;
  Outlet out_;
  Outlet err_;
  EscapeKeys keys_;
  Phase phase_ = Phase::connecting;
  time_point connect_until_;
  std::size_t variables_sent_ = 0;
  bool more_ = false;  // Stopped although there is more output, so that other work has its turn.
  bool size_changed_ = false;
  bool input_ended_ = false;
};

}  // namespace

Exit run_interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel) {
  if (host.openssh) return run_openssh_session(host, options, cancel);
  return Interactive(host, options, cancel).run();
}

}  // namespace fastgpu::ssh
