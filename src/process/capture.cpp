#include "process/capture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/names.hpp"
#include "process/child.hpp"

namespace fastgpu::process {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Blocks SIGPIPE in this thread while it writes to a pipe that may have lost its reader.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlocked() {
    const timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0)
      while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

void read_some(UniqueFd& from, std::string& to, const Bytes& limit, bool& truncated) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    from = UniqueFd();
    return;
  }
  const std::size_t room = limit.count - std::min<std::uint64_t>(limit.count, to.size());
  const auto kept = std::min(room, static_cast<std::size_t>(got));
  to.append(buffer.data(), kept);
  if (kept < static_cast<std::size_t>(got)) truncated = true;
}

void write_some(UniqueFd& to, std::string_view& left) {
  const ssize_t put = ::write(to.get(), left.data(), left.size());
  if (put > 0) left.remove_prefix(static_cast<std::size_t>(put));
  const bool broken = put < 0 && errno != EAGAIN && errno != EINTR;
  if (left.empty() || broken) to = UniqueFd();
}

int milliseconds_until(SteadyClock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 1'000'000));
}

}  // namespace

Captured capture(Command command, const CaptureOptions& options, const Cancel& cancel) {
  cancel.check();
  const ChildStream pipe{.mode = StreamMode::pipe};
  command.in = command.out = command.err = pipe;
  command.grouping = Grouping::group;
  const PipeSignalBlocked quiet;
  Child child(command);
  ::fcntl(child.in().get(), F_SETFL, O_NONBLOCK);
  std::string_view input = options.input;
  if (input.empty()) child.in() = UniqueFd();
  Captured result;
  const std::string name = printable(command.argv[0]);
  const auto deadline = SteadyClock::now() + options.timeout;
  while (child.out() || child.err()) {
    pollfd fds[] = {{child.in().get(), POLLOUT, 0},
                    {child.out().get(), POLLIN, 0},
                    {child.err().get(), POLLIN, 0},
                    {cancel.fd(), POLLIN, 0}};
    ::poll(fds, 4, milliseconds_until(deadline));
    cancel.check();
    if (SteadyClock::now() >= deadline)
      throw Error(ErrorKind::timeout, name + " ran longer than " + to_string(options.timeout));
    if (fds[0].revents != 0) write_some(child.in(), input);
    if (fds[1].revents != 0) read_some(child.out(), result.out, options.limit, result.truncated);
    if (fds[2].revents != 0) read_some(child.err(), result.err, options.limit, result.truncated);
  }
  const auto left = std::chrono::milliseconds(milliseconds_until(deadline));
  const auto status = child.wait_for(left, &cancel);
  cancel.check();
  if (!status)
    throw Error(ErrorKind::timeout, name + " ran longer than " + to_string(options.timeout));
  result.status = *status;
  return result;
}

}  // namespace fastgpu::process
