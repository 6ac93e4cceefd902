#include "comm/transports/tcp_poller.hpp"

#include <sys/epoll.h>

#include <bit>
#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// The kernel keeps a number of 64 bits for each descriptor.
static_assert(sizeof(PollSource) == sizeof(std::uint64_t));

epoll_event event_of(std::uint32_t events, const PollSource& source) noexcept {
  return {.events = events, .data = {.u64 = std::bit_cast<std::uint64_t>(source)}};
}

}  // namespace

TcpPoller::TcpPoller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw system_error("making an epoll instance", errno);
}

void TcpPoller::add(int descriptor, const PollSource& source, const char* doing) {
  epoll_event event = event_of(EPOLLIN, source);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw system_error(doing, errno);
}

void TcpPoller::change(int descriptor, const PollSource& source, PollInterest interest) noexcept {
  const std::uint32_t reading = interest.in_bytes ? EPOLLIN : EPOLLRDHUP;
  epoll_event event = event_of(interest.in_room ? reading | EPOLLOUT : reading, source);
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void TcpPoller::remove(int descriptor) noexcept {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const Readiness> TcpPoller::look() {
  epoll_event events[kMostATurn];
  const int count = ::epoll_wait(epoll_.get(), events, kMostATurn, 0);
  const std::size_t found = count > 0 ? static_cast<std::size_t>(count) : 0;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint64_t number = events[i].data.u64;  // The event is packed in memory.
    ready_[i] = {.source = std::bit_cast<PollSource>(number),
                 .has_news = (events[i].events & ~std::uint32_t{EPOLLOUT}) != 0,
                 .has_room = (events[i].events & EPOLLOUT) != 0};
  }
  return std::span(ready_).first(found);
}

}  // namespace fastgpu::comm
