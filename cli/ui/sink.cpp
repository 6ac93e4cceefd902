#include "cli/ui/sink.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>

namespace fastgpu::cli {
namespace {

/// How long to wait for a reader that takes nothing once a cancel is requested.
constexpr int kLastWordsMs = 500;

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

FdSink::FdSink(int fd, const Cancel& cancel)
    : fd_(fd), cancel_(cancel), may_block_(!is_regular(fd)) {}

void FdSink::wait_for_room() {
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{fd_, POLLOUT, 0}, pollfd{cancel_.fd(), POLLIN, 0}};
    const bool stopping = cancel_.requested();
    const int ready = ::poll(fds.data(), stopping ? 1 : 2, stopping ? kLastWordsMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw Error(ErrorKind::local, system_error("waiting to write", errno).what());
    if (fds[0].revents != 0) return;
    if (stopping) throw Error(ErrorKind::interrupted, "interrupted while the output had no reader");
  }
}

void FdSink::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (may_block_) wait_for_room();
    // If poll() reports a pipe as writable, at least PIPE_BUF bytes do not block; more might.
    const std::size_t piece =
        may_block_ ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    const ssize_t written = ::write(fd_, bytes.data(), piece);
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      throw OutputClosed();
    } else if (errno != EINTR && errno != EAGAIN) {
      throw OutputFailed(output_error(fd_, errno));
    }
  }
}

}  // namespace fastgpu::cli
