#include "remote/shared_input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::remote {
namespace {

UniqueFd make_event() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw system_error("making an event descriptor", errno);
  return event;
}

/// Waits until `fd` is readable. Returns false once `stop` is readable.
bool wait_for(int fd, int stop) {
  pollfd fds[] = {{fd, POLLIN, 0}, {stop, POLLIN, 0}};
  for (;;) {
    const int count = ::poll(fds, 2, -1);
    if (count > 0) return fds[1].revents == 0;
    if (count < 0 && errno != EINTR) throw system_error("waiting for standard input", errno);
  }
}

/// Reads without blocking, even if another process reads from the same pipe or socket and takes the
/// bytes first. A flag on the descriptor would affect that process, too.
class PatientReader {
 public:
  explicit PatientReader(int fd) : fd_(fd) {
    struct stat about {};
    if (::fstat(fd, &about) != 0) return;
    is_socket_ = S_ISSOCK(about.st_mode);
    if (!S_ISFIFO(about.st_mode)) return;
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    own_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (own_) fd_ = own_.get();
  }

  int fd() const noexcept { return fd_; }

  ssize_t read(std::string& buffer) const {
    return is_socket_ ? ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT)
                      : ::read(fd_, buffer.data(), buffer.size());
  }

 private:
  int fd_;
  UniqueFd own_;
  bool is_socket_ = false;
};

}  // namespace

SharedInput::SharedInput(int fd, std::size_t takers)
    : wake_(make_event()), stop_(make_event()), takers_(takers) {
  sigset_t all, before;  // Other threads handle signals.
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  reader_ = std::thread([this, fd] { read_all(fd); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SharedInput::~SharedInput() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  ::eventfd_write(stop_.get(), 1);
  reader_.join();
}

void SharedInput::read_all(int fd) try {
  std::string buffer(kPiece, '\0');
  const PatientReader input(fd);
  while (wait_for_room() && wait_for(input.fd(), stop_.get())) {
    const ssize_t got = input.read(buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) throw system_error("reading standard input", errno);
    if (got == 0) return end(nullptr);
    add(std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
} catch (...) {
  end(std::current_exception());
}

/// Returns false if no more input is needed.
bool SharedInput::wait_for_room() {
  std::unique_lock lock(mutex_);
  const auto all_left = [this] {
    return std::ranges::all_of(takers_, [](const Taker& taker) { return taker.left; });
  };
  room_.wait(lock, [&] { return stopping_ || all_left() || held_.size() + kPiece <= kMost; });
  return !stopping_ && !all_left();
}

void SharedInput::add(std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    held_ += bytes;
  }
  wake_takers();
}

void SharedInput::end(std::exception_ptr why) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    failure_ = std::move(why);
  }
  wake_takers();
}

void SharedInput::wake_takers() const noexcept {
  ::eventfd_write(wake_.get(), 1);
}

std::optional<SharedInput::Piece> SharedInput::take(std::size_t taker) {
  const std::lock_guard lock(mutex_);
  Taker& one = takers_.at(taker);
  Piece piece{.offset = one.taken, .bytes = {}};
  if (one.left) return std::nullopt;
  piece.bytes = held_.substr(static_cast<std::size_t>(one.taken - first_), kPiece);
  one.taken += piece.bytes.size();
  if (!piece.bytes.empty() || !ended_) return piece;
  if (failure_) std::rethrow_exception(failure_);
  return std::nullopt;
}

void SharedInput::finish(std::size_t taker, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  Taker& one = takers_.at(taker);
  one.finished = std::max(one.finished, std::min(offset, one.taken));
  forget_finished();
}

void SharedInput::rewind(std::size_t taker) {
  const std::lock_guard lock(mutex_);
  takers_.at(taker).taken = takers_.at(taker).finished;
}

void SharedInput::leave(std::size_t taker) {
  const std::lock_guard lock(mutex_);
  takers_.at(taker).left = true;
  forget_finished();
}

std::function<std::optional<std::string>()> framed_input(SharedInput& input, std::size_t taker,
                                                         Finished finished) {
  return [&input, taker, finished, ended = false]() mutable -> std::optional<std::string> {
    if (ended) return std::nullopt;
    const auto piece = input.take(taker);
    ended = !piece;
    if (ended) return transfer::to_text({.kind = transfer::InputKind::end}, "");
    if (piece->bytes.empty()) return "";
    if (finished == Finished::at_once) input.finish(taker, piece->offset + piece->bytes.size());
    return transfer::to_text({.kind = transfer::InputKind::data, .offset = piece->offset},
                             piece->bytes);
  };
}

void SharedInput::forget_finished() {
  std::uint64_t needed = first_ + held_.size();
  for (const Taker& taker : takers_)
    if (!taker.left) needed = std::min(needed, taker.finished);
  held_.erase(0, static_cast<std::size_t>(needed - first_));
  first_ = needed;
  room_.notify_all();
}

}  // namespace fastgpu::remote
