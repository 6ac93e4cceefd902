#include "ssh/openssh_link.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/pipe.hpp"
#include "ssh/connection.hpp"
#include "ssh/openssh.hpp"
#include "ssh/openssh_failure.hpp"

namespace fastgpu::ssh {
namespace {

using namespace std::chrono_literals;

// An argument of a program can have at most 128 KiB.
constexpr std::size_t kLongestArgument = 120'000;
constexpr std::size_t kMostLog = 64UL * 1024;
// The client's own exit status for failures; a command may have the same one.
constexpr int kSshFailed = 255;

void set_nonblocking(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
}

/// Appends the available bytes to `text`, up to `most` in total. Returns true at the end of the
/// stream.
bool drain(const UniqueFd& fd, std::string& text, std::size_t most) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size <= 0) return size == 0 || (errno != EAGAIN && errno != EINTR);
    const auto got = static_cast<std::size_t>(size);
    text.append(buffer.data(), std::min(got, most - std::min(most, text.size())));
  }
}

}  // namespace

OpenSshLink::OpenSshLink(const Host& host, std::string line,
                         std::chrono::milliseconds connect_timeout)
    : host_(host), line_(std::move(line)), connect_timeout_(connect_timeout) {
  if (!host.socket_broker.empty())
    throw error(ErrorKind::internal, "OpenSSH's client does not reach a network of its own");
}

Error OpenSshLink::error(ErrorKind kind, const std::string& reason) const {
  return {kind, place(host_) + ": " + reason};
}

Error OpenSshLink::timed_out(const std::string& limit) const {
  return error(ErrorKind::transient, "ssh has not logged in within " + limit);
}

void OpenSshLink::watch(int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  if (::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    throw system_error("watching ssh", errno);
}

void OpenSshLink::launch() {
  if (line_.size() > kLongestArgument)
    throw error(ErrorKind::usage, "the command has " + std::to_string(line_.size()) +
                                      " bytes; ssh takes at most " +
                                      std::to_string(kLongestArgument));
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    throw system_error("making a pair of sockets", errno);
  in_ = UniqueFd(pair[0]);
  const UniqueFd their_in(pair[1]);
  Pipe log = make_pipe(O_CLOEXEC | O_NONBLOCK);
  log_ = std::move(log.read_end);
  log_end_ = std::move(log.write_end);
  ready_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!ready_) throw system_error("watching ssh", errno);
  call_.emplace(host_, connect_timeout_);
  const std::string log_path =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(log_end_.get());
  process::Command command{.argv = call_->argv({"-T", "-E", log_path}),
                           .in = {.fd = their_in.get()},
                           .out = {.mode = process::StreamMode::pipe},
                           .err = {.mode = process::StreamMode::pipe},
                           .grouping = process::Grouping::session,
                           .on_parent_death = process::OnParentDeath::kill};
  command.argv.push_back(line_);
  try {
    child_.emplace(command);
  } catch (const Error& e) {
    throw Error(e.kind(),
                place(host_) +
                    " is reached by OpenSSH's client, and that does not start here: " + e.what());
  }
  out_ = std::move(child_->out());
  err_ = std::move(child_->err());
  set_nonblocking(out_);
  set_nonblocking(err_);
  watch(out_.get(), EPOLLIN);
  watch(err_.get(), EPOLLIN);
  watch(log_.get(), EPOLLIN);
  // Invalid on kernels before 5.3. Then the ends of the outputs report the exit.
  exit_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child_->pid(), 0)));
  if (exit_) watch(exit_.get(), EPOLLIN);
}

bool OpenSshLink::connect() {
  if (!child_) launch();
  if (openssh_logged_in(log_text_)) return true;
  read_early_errors();
  if (!ended_) return false;
  // This is the status of a command.
  if (ended_->signal == 0 && ended_->code != kSshFailed) return true;
  throw openssh_failure(host_, log_text_, early_);
}

/// Reads the stderr of the client and its proxies until our command starts.
void OpenSshLink::read_early_errors() {
  if (err_ && drain(err_, early_, kMostLog)) err_ = UniqueFd();
}

bool OpenSshLink::has_ended() {
  if (!child_ || ended_) return ended_.has_value();
  const bool silent = !out_ && !err_;
  ended_ = exit_ || !silent ? child_->poll() : child_->wait_for(3s, nullptr);
  if (!ended_) return false;
  exit_ = UniqueFd();  // It would stay readable for ever.
  return true;
}

void OpenSshLink::woken() {
  if (!child_) return;
  has_ended();  // Called before the outputs are read, so that no output can come after it.
  read_log();
}

void OpenSshLink::read_log() {
  if (log_) drain(log_, log_text_, kMostLog);
}

bool OpenSshLink::turned_away() const {
  return !openssh_logged_in(log_text_) && openssh_turned_away(log_text_);
}

/// Checks the log and the stderr, because the client writes its last message only to stderr.
bool OpenSshLink::lost() const {
  return openssh_lost(log_text_) || (last_errors_.find("Connection to ") != std::string::npos &&
                                     last_errors_.ends_with("closed by remote host.\r\n"));
}

void OpenSshLink::keep_last_errors(std::string_view piece) {
  constexpr std::size_t kMost = 512;
  last_errors_.append(piece);
  if (last_errors_.size() > kMost) last_errors_.erase(0, last_errors_.size() - kMost);
}

std::size_t OpenSshLink::read(Output from, std::span<char> buffer) {
  if (from == Output::err && early_at_ < early_.size()) {
    const std::size_t size = std::min(buffer.size(), early_.size() - early_at_);
    std::memcpy(buffer.data(), early_.data() + early_at_, size);
    early_at_ += size;
    return size;
  }
  UniqueFd& fd = from == Output::out ? out_ : err_;
  if (!fd) return 0;
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size > 0) {
    const auto got = static_cast<std::size_t>(size);
    if (from == Output::err) keep_last_errors({buffer.data(), got});
    return got;
  }
  const bool none_yet = size < 0 && (errno == EAGAIN || errno == EINTR);
  // A process that outlives the client may hold the other end.
  if (!none_yet || ended_) fd = UniqueFd();
  return 0;
}

bool OpenSshLink::can_write() {
  if (!in_) return true;  // write() reports the end.
  pollfd room{in_.get(), POLLOUT, 0};
  const bool has_room = ::poll(&room, 1, 0) > 0;
  if (has_room && awaits_room_) ::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, in_.get(), nullptr);
  if (!has_room && !awaits_room_) watch(in_.get(), EPOLLOUT);
  awaits_room_ = !has_room;
  return has_room;
}

std::optional<std::size_t> OpenSshLink::write(std::string_view bytes) {
  if (!in_) return std::nullopt;
  const ssize_t size = ::send(in_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size >= 0) return static_cast<std::size_t>(size);
  if (errno == EAGAIN || errno == EINTR) return 0;
  awaits_room_ = false;
  in_ = UniqueFd();
  return std::nullopt;
}

std::optional<Exit> OpenSshLink::closed() {
  if (!has_ended()) return std::nullopt;
  read_log();
  if (ended_->signal != 0)
    throw error(ErrorKind::transient, "ssh was " + process::describe(*ended_));
  if (ended_->code == kSshFailed && lost())
    throw error(ErrorKind::transient, "connection lost while the command ran");
  return Exit{.status = ended_->code, .signal = {}};
}

}  // namespace fastgpu::ssh
