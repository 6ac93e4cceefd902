#include "agent/jobs/log_pump.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/units.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kPiece = 65'536;
constexpr int kPipeSize = 1 << 20;
constexpr char kSettle = 's', kEnd = 'e';

/// Returns the number of bytes that can be read from the pipe.
std::size_t waiting_in(const UniqueFd& pipe) noexcept {
  int bytes = 0;
  return ::ioctl(pipe.get(), FIONREAD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes)
                                                                 : 0;
}

/// Writes as much as there is room for. Returns the number of bytes.
std::size_t write_what_fits(int log, std::string_view text) noexcept {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(log, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    done += static_cast<std::size_t>(put);
  }
  return done;
}

std::string gap_line(std::uint64_t bytes) {
  return "[fastgpu: " + to_string(Bytes{bytes}) + " of output dropped: no space left]\n";
}

}  // namespace

LogPump::LogPump(const UniqueFd& out, const UniqueFd& err) : orders_(make_pipe()) {
  const std::array logs = {out.get(), err.get()};
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].pipe = make_pipe();
    streams_[i].log = logs[i];
    const int pipe = streams_[i].pipe.read_end.get();
    ::fcntl(pipe, F_SETPIPE_SZ, kPipeSize);  // A smaller one is slower, and works.
    ::fcntl(pipe, F_SETFL, O_NONBLOCK);
  }
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // The main thread handles signals.
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& e) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw Error(ErrorKind::local, std::string("starting a thread for logs: ") + e.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogPump::~LogPump() {
  wake(kEnd);
  thread_.join();
}

void LogPump::leave_to_program() noexcept {
  for (Stream& stream : streams_)
    stream.pipe.write_end = UniqueFd();
}

void LogPump::wake(char order) const {
  while (::write(orders_.write_end.get(), &order, 1) < 0 && errno == EINTR) {
  }
}

void LogPump::settle() {
  std::unique_lock lock(mutex_);
  is_settled_ = false;
  wake(kSettle);
  settled_.wait(lock, [this] { return is_settled_; });
}

bool LogPump::has_dropped() const {
  const std::lock_guard lock(mutex_);
  return has_dropped_;
}

void LogPump::run() {
  for (;;) {
    std::array<pollfd, 3> fds = {
        {{orders_.read_end.get(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (streams_[i].is_open) fds[i + 1].fd = streams_[i].pipe.read_end.get();
    ::poll(fds.data(), fds.size(), -1);
    // The order is read first: what it waits for has been written by then.
    char order = 0;
    if (fds[0].revents != 0 && ::read(orders_.read_end.get(), &order, 1) < 0) continue;
    for (Stream& stream : streams_)
      pump_all(stream, order == 0 ? 1 : waiting_in(stream.pipe.read_end));
    if (order == kEnd) return;
    if (order != kSettle) continue;
    const std::lock_guard lock(mutex_);
    is_settled_ = true;
    settled_.notify_all();
  }
}

/// Moves at least so many bytes, if there are as many. Not all that there are: another process may
/// write without end.
void LogPump::pump_all(Stream& stream, std::size_t bytes) {
  std::string text(kPiece, '\0');
  while (stream.is_open && bytes > 0) {
    const ssize_t got = ::read(stream.pipe.read_end.get(), text.data(), text.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    stream.is_open = got > 0;
    const auto size = static_cast<std::size_t>(got);
    write(stream, std::string_view(text).substr(0, size));
    bytes -= std::min(bytes, size);
  }
}

/// Writes the text, and before it a line about what was dropped. The line and the text go together:
/// a disk that is still full has room for neither.
void LogPump::write(Stream& stream, std::string_view text) {
  const std::string gap =
      stream.dropped == 0 ? "" : (stream.ends_line ? "" : "\n") + gap_line(stream.dropped);
  const std::size_t noted = write_what_fits(stream.log, gap);
  if (noted > 0) stream.ends_line = gap[noted - 1] == '\n';
  const bool is_noted = noted == gap.size();
  const std::size_t done = is_noted ? write_what_fits(stream.log, text) : 0;
  if (is_noted) stream.dropped = 0;
  if (done > 0) stream.ends_line = text[done - 1] == '\n';
  stream.dropped += text.size() - done;
  if (done == text.size()) return;
  const std::lock_guard lock(mutex_);
  has_dropped_ = true;
}

}  // namespace fastgpu::agent
