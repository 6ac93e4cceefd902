#include "agent/jobs/frame_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <string>

#include "base/error.hpp"

namespace fastgpu::agent {

FrameWriter::FrameWriter(std::function<void()> idle) : idle_(std::move(idle)) {
  // A terminal is left blocking, because other processes share its settings.
  if (::isatty(STDOUT_FILENO) == 0)
    ::fcntl(STDOUT_FILENO, F_SETFL, ::fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
}

void FrameWriter::send(FrameHeader header, std::string_view bytes) {
  assert(bytes.size() <= kLargestFrame);
  header.length = static_cast<std::uint32_t>(bytes.size());
  const auto start = encode(header);
  write({start.data(), start.size()});
  write(bytes);
}

void FrameWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
    if (put >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) throw system_error("the reader of the job's output is gone", errno);
    pollfd fd{STDOUT_FILENO, POLLOUT, 0};
    ::poll(&fd, 1, 500);
    idle_();
  }
}

}  // namespace fastgpu::agent
