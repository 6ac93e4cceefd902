#include "comm/transports/tcp_poller.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// The kernel keeps a number of 64 bits for each descriptor.
static_assert(sizeof(PollSource) == sizeof(std::uint64_t));
/// One set of events serves both ways of polling.
static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLRDHUP == EPOLLRDHUP);

short events_of(PollInterest interest) noexcept {
  const int reading = interest.in_bytes ? POLLIN : POLLRDHUP;
  return static_cast<short>(interest.in_room ? reading | POLLOUT : reading);
}

Readiness readiness(const PollSource& source, std::uint32_t events) noexcept {
  return {.source = source,
          .has_news = (events & ~std::uint32_t{EPOLLOUT}) != 0,
          .has_room = (events & EPOLLOUT) != 0};
}

/// Returns false, with errno, if the system refuses.
bool control(const UniqueFd& epoll, int operation, const pollfd& polled,
             const PollSource& source) noexcept {
  epoll_event event{.events = static_cast<std::uint32_t>(polled.events),
                    .data = {.u64 = std::bit_cast<std::uint64_t>(source)}};
  return ::epoll_ctl(epoll.get(), operation, polled.fd, &event) == 0;
}

}  // namespace

TcpPoller::TcpPoller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw system_error("making an epoll instance", errno);
}

void TcpPoller::add(int descriptor, const PollSource& source, const char* doing) {
  const pollfd polled{descriptor, POLLIN, 0};
  if (is_watched_ && !control(epoll_, EPOLL_CTL_ADD, polled, source))
    throw system_error(doing, errno);
  polled_.push_back(polled);
  sources_.push_back(source);
}

void TcpPoller::change(int descriptor, PollInterest interest) noexcept {
  const auto found = std::ranges::find(polled_, descriptor, &pollfd::fd);
  if (found == polled_.end()) return;
  found->events = events_of(interest);
  if (is_watched_)
    control(epoll_, EPOLL_CTL_MOD, *found,
            sources_[static_cast<std::size_t>(found - polled_.begin())]);
}

void TcpPoller::remove(int descriptor) noexcept {
  const auto found = std::ranges::find(polled_, descriptor, &pollfd::fd);
  if (found == polled_.end()) return;
  // It may be there even if not all are.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  sources_.erase(sources_.begin() + (found - polled_.begin()));
  polled_.erase(found);
}

std::span<const Readiness> TcpPoller::look() {
  if (polled_.size() > kFew && watch()) return look_at_watched();
  if (is_watched_ && !is_asleep_ && ++looks_awake_ >= kLooksAwake) unwatch();
  return look_at_each();
}

std::span<const Readiness> TcpPoller::look_at_each() noexcept {
  int left = ::poll(polled_.data(), polled_.size(), 0);
  std::size_t found = 0;
  for (std::size_t i = 0; left > 0 && i < polled_.size() && found < kMostATurn; ++i) {
    if (polled_[i].revents == 0) continue;
    --left;
    ready_[found++] = readiness(sources_[i], static_cast<std::uint16_t>(polled_[i].revents));
  }
  return std::span(ready_).first(found);
}

std::span<const Readiness> TcpPoller::look_at_watched() noexcept {
  epoll_event events[kMostATurn];
  const int count = ::epoll_wait(epoll_.get(), events, kMostATurn, 0);
  const std::size_t found = count > 0 ? static_cast<std::size_t>(count) : 0;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint64_t number = events[i].data.u64;  // The event is packed in memory.
    ready_[i] = readiness(std::bit_cast<PollSource>(number), events[i].events);
  }
  return std::span(ready_).first(found);
}

bool TcpPoller::may_sleep() noexcept {
  is_asleep_ = true;
  looks_awake_ = 0;
  return watch();
}

/// Puts all into the epoll instance; returns false if that fails.
bool TcpPoller::watch() noexcept {
  if (is_watched_) return true;
  for (std::size_t i = 0; i < polled_.size(); ++i)
    if (!control(epoll_, EPOLL_CTL_ADD, polled_[i], sources_[i]) && errno != EEXIST) return false;
  is_watched_ = true;
  return true;
}

void TcpPoller::unwatch() noexcept {
  is_watched_ = false;
  for (const pollfd& polled : polled_)
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, polled.fd, nullptr);
}

}  // namespace fastgpu::comm
