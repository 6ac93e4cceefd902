#include "ssh/local_side.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::ssh {
namespace {

constexpr std::size_t kMostWaiting = 256UL * 1024;
constexpr std::size_t kPiece = 32UL * 1024;

bool is_ready(int fd, short events) noexcept {
  pollfd one{fd, events, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

bool Outlet::full() const noexcept {
  return waiting_.size() >= kMostWaiting;
}

/// Writes in parts of PIPE_BUF: a ready pipe takes that many bytes without blocking.
void Outlet::write_ready() {
  std::size_t done = 0;
  while (done < waiting_.size() && is_ready(fd_, POLLOUT)) {
    const std::size_t part = std::min<std::size_t>(waiting_.size() - done, PIPE_BUF);
    const ssize_t size = ::write(fd_, waiting_.data() + done, part);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) break;
    if (size < 0) throw output_error(fd_, errno);
    done += static_cast<std::size_t>(size);
  }
  waiting_.erase(0, done);
}

bool Inlet::full() const noexcept {
  return waiting_.size() - at_ >= kMostWaiting;
}

std::string Inlet::read_ready() {
  std::string piece;
  if (ended_ || full() || !is_ready(fd_, POLLIN)) return piece;
  piece.resize(kPiece);
  const ssize_t size = ::read(fd_, piece.data(), piece.size());
  const bool later = size < 0 && (errno == EINTR || errno == EAGAIN);
  piece.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  ended_ = size <= 0 && !later;
  return piece;
}

void Inlet::take(std::size_t size) {
  at_ += size;
  if (!empty()) return;
  waiting_.clear();
  at_ = 0;
}

void Inlet::close() {
  ended_ = true;
  take(waiting_.size() - at_);
}

}  // namespace fastgpu::ssh
