#include "ssh/interactive.hpp"

#include <libssh2.h>
#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "ssh/command.hpp"
#include "ssh/connection.hpp"

namespace fastgpu::ssh {
namespace {

using std::chrono::milliseconds;
using time_point = Clock::time_point;

constexpr std::size_t kWaitingOutput = 256UL * 1024;

bool is_ready(int fd, short events) noexcept {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, 0) > 0;
}

/// Output of the far end that our side has not taken yet.
class Outlet {
 public:
  explicit Outlet(int fd) : fd_(fd) {}

  bool full() const noexcept { return waiting_.size() >= kWaitingOutput; }
  bool empty() const noexcept { return waiting_.empty(); }
  void add(std::string_view bytes) { waiting_ += bytes; }
  pollfd wanted() const noexcept { return {waiting_.empty() ? -1 : fd_, POLLOUT, 0}; }

  /// Writes what can be written without blocking: a pipe that is ready takes PIPE_BUF bytes.
  void write_ready() {
    std::size_t done = 0;
    while (done < waiting_.size() && is_ready(fd_, POLLOUT)) {
      const std::size_t part = std::min<std::size_t>(waiting_.size() - done, PIPE_BUF);
      const ssize_t size = ::write(fd_, waiting_.data() + done, part);
      if (size < 0 && (errno == EINTR || errno == EAGAIN)) break;
      if (size < 0) throw system_error("writing output", errno);
      done += static_cast<std::size_t>(size);
    }
    waiting_.erase(0, done);
  }

 private:
  int fd_;
  std::string waiting_;
};

class Interactive {
 public:
  Interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel)
      : options_(options),
        cancel_(cancel),
        connection_(host, identities_),
        out_(options.out),
        err_(options.err),
        connect_until_(std::chrono::steady_clock::now() + options.connect_timeout) {}

  Exit run() {
    while (!step())
      wait();
    while (!out_.empty() || !err_.empty()) {
      cancel_.check();
      wait();
      out_.write_ready();
      err_.write_ready();
    }
    return exit_of(channel_.get());
  }

 private:
  enum class Phase : std::uint8_t { connecting, opening, terminal, starting, running };

  /// True once the far end has ended.
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
    phase_ = options_.terminal ? Phase::terminal : Phase::starting;
    return true;
  }

  bool ask_for_terminal() {
    const WindowSize size = current_size();
    const std::string& type = *options_.terminal;
    const int code = libssh2_channel_request_pty_ex(channel_.get(), type.data(),
                                                    static_cast<unsigned>(type.size()), nullptr, 0,
                                                    size.columns, size.rows, 0, 0);
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code != 0) throw refused("no terminal");
    phase_ = Phase::starting;
    return true;
  }

  bool start() {
    const std::string& command = options_.command;
    const int code =
        command.empty() ? libssh2_channel_shell(channel_.get())
                        : libssh2_channel_process_startup(channel_.get(), "exec", 4, command.data(),
                                                          static_cast<unsigned>(command.size()));
    if (code == LIBSSH2_ERROR_EAGAIN) return false;
    if (code != 0) throw refused("the command is not started");
    phase_ = Phase::running;
    return true;
  }

  bool pump() {
    pump_output(0, out_);
    pump_output(SSH_EXTENDED_DATA_STDERR, err_);
    pump_input();
    pump_size();
    if (out_.full() || err_.full() || libssh2_channel_eof(channel_.get()) == 0) return false;
    const int code = libssh2_channel_wait_closed(channel_.get());
    if (code != 0 && code != LIBSSH2_ERROR_EAGAIN) throw lost();
    return code == 0;
  }

  void pump_output(int stream, Outlet& outlet) {
    outlet.write_ready();
    std::array<char, 32UL * 1024> buffer;
    while (!outlet.full()) {
      const ssize_t size =
          libssh2_channel_read_ex(channel_.get(), stream, buffer.data(), buffer.size());
      if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return;
      if (size < 0) throw lost();
      outlet.add({buffer.data(), static_cast<std::size_t>(size)});
      outlet.write_ready();
    }
  }

  /// Sends until the far end takes no more or our side has no more for now.
  void pump_input() {
    while (!input_ended_) {
      if (input_at_ == input_.size() && !read_input()) return;
      if (!connection_.session().can_send()) return;
      const ssize_t size = libssh2_channel_write(channel_.get(), input_.data() + input_at_,
                                                 input_.size() - input_at_);
      if (size == LIBSSH2_ERROR_EAGAIN || size == 0) return;
      if (size < 0) {
        if (connection_.session().lost()) throw lost();
        input_ended_ = true;  // The command is gone, or has closed its input.
        return;
      }
      input_at_ += static_cast<std::size_t>(size);
    }
  }

  bool read_input() {
    input_.clear();
    input_at_ = 0;
    if (!is_ready(options_.in, POLLIN)) return false;
    input_.resize(32UL * 1024);
    const ssize_t size = ::read(options_.in, input_.data(), input_.size());
    const bool later = size < 0 && (errno == EINTR || errno == EAGAIN);
    input_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    if (size > 0 || later) return size > 0;
    input_ended_ = true;
    libssh2_channel_send_eof(channel_.get());
    return false;
  }

  void pump_size() {
    if (options_.resize_fd < 0 || !options_.terminal || !is_ready(options_.resize_fd, POLLIN))
      return;
    std::array<char, 4096> ignored;
    if (::read(options_.resize_fd, ignored.data(), ignored.size()) <= 0) return;
    const WindowSize size = current_size();
    libssh2_channel_request_pty_size(channel_.get(), size.columns, size.rows);
  }

  WindowSize current_size() const {
    return options_.window_size ? options_.window_size() : WindowSize{};
  }

  void wait() {
    const bool running = phase_ == Phase::running;
    const bool wants_input = running && !input_ended_ && input_at_ == input_.size();
    std::array<pollfd, 6> polled = {{
        out_.full() || err_.full() ? pollfd{-1, 0, 0} : connection_.wanted(),
        {cancel_.fd(), POLLIN, 0},
        {wants_input ? options_.in : -1, POLLIN, 0},
        {running && options_.terminal ? options_.resize_fd : -1, POLLIN, 0},
        out_.wanted(),
        err_.wanted(),
    }};
    const auto rest =
        std::chrono::ceil<milliseconds>(connect_until_ - std::chrono::steady_clock::now());
    const auto limit = running ? -1 : std::max<milliseconds::rep>(rest.count(), 0);
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
  Channel channel_;  // Goes before the connection.
  Outlet out_;
  Outlet err_;
  Phase phase_ = Phase::connecting;
  time_point connect_until_;
  std::string input_;
  std::size_t input_at_ = 0;
  bool input_ended_ = false;
};

}  // namespace

Exit run_interactive(const Host& host, const InteractiveOptions& options, const Cancel& cancel) {
  return Interactive(host, options, cancel).run();
}

}  // namespace fastgpu::ssh
