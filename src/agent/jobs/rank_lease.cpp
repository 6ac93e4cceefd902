#include "agent/jobs/rank_lease.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "agent/connect.hpp"
#include "agent/jobs/free_port.hpp"
#include "agent/protocol/silence.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLeaseTries{500};
constexpr int kFirstTries = 20;  ///< The supervisor may be behind a firewall.
constexpr std::size_t kMostLinks = 8'192;

void set_number(int fd, int level, int name, int value) noexcept {
  ::setsockopt(fd, level, name, &value, sizeof value);  // Without it a cut is noticed later.
}

void probe(int fd) noexcept {
  const auto seconds = [](std::chrono::seconds time) { return static_cast<int>(time.count()); };
  set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds(kNodeProbes.after));
  set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds(kNodeProbes.every));
  set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, kNodeProbes.count);
  set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 1'000 * seconds(kRankLease));
}

/// Reads what there is, and keeps the first bytes in `text`. Returns 0 for an open connection, an
/// errno for a broken one, and ECONNRESET for one that the other side has closed.
int state_of(int fd, std::string& text) noexcept {
  constexpr std::size_t kLongestGreeting = 16;
  std::array<char, 256> bytes;
  for (;;) {
    const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) return ECONNRESET;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? 0 : errno;
    const std::size_t room = kLongestGreeting - std::min(kLongestGreeting, text.size());
    text.append(bytes.data(), std::min(room, static_cast<std::size_t>(got)));
  }
}

/// Returns the rank in a greeting, -1 if it is incomplete.
int rank_in(std::string_view greeting) noexcept {
  const auto end = greeting.find('\n');
  if (end == greeting.npos) return -1;
  return to_number<int>(greeting.substr(0, end)).value_or(-1);
}

/// Returns how many connections this process may hold beside its other descriptors.
std::size_t most_links() noexcept {
  constexpr rlim_t kOthers = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostLinks;
  return std::min<std::size_t>(kMostLinks, limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0);
}

}  // namespace

std::optional<HeadAddress> parse_head_address(std::string_view text) {
  const auto blank = text.find(' ');
  if (blank == text.npos || blank == 0) return std::nullopt;
  const auto port = to_number<std::uint16_t>(text.substr(blank + 1));
  if (!port || *port == 0) return std::nullopt;
  return HeadAddress{std::string(text.substr(0, blank)), *port};
}

void LeaseClock::hold() noexcept {
  was_held_ = true;
  lost_at_.reset();
}

void LeaseClock::lose(Time now, milliseconds silence) noexcept {
  if (was_held_ && !lost_at_) lost_at_ = now - silence;
}

LeaseClock::Time LeaseClock::end() const noexcept {
  return lost_at_ ? *lost_at_ + kRankLease : Time::max();
}

RankLease::RankLease(std::optional<HeadAddress> head, int rank)
    : head_(std::move(head)), rank_(rank) {}

pollfd RankLease::wanted() const noexcept {
  return {socket_.get(), static_cast<short>(is_connecting_ ? POLLOUT : POLLIN), 0};
}

int RankLease::wait() const noexcept {
  if (!head_) return -1;
  auto next = clock_.end();
  if (!socket_) next = std::min(next, next_try_);
  if (next == Steady::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(next - Steady::now());
  return static_cast<int>(std::max(milliseconds(0), left).count());
}

void RankLease::look() noexcept {
  if (!head_) return;
  if (!socket_ && Steady::now() >= next_try_) connect();
  if (!socket_) return;
  if (is_connecting_)
    check_attempt();
  else
    check_connection();
}

void RankLease::connect() {
  ConnectAttempt attempt = begin_connection(head_->address, head_->port);
  if (!attempt.socket || (attempt.failure != 0 && attempt.failure != EINPROGRESS))
    return try_later();
  socket_ = std::move(attempt.socket);
  probe(socket_.get());
  is_connecting_ = true;
}

void RankLease::check_attempt() {
  pollfd ready{socket_.get(), POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return;
  is_connecting_ = false;
  if (result_of_connection(socket_.get()) != 0) return try_later();
  const std::string greeting = std::to_string(rank_) + "\n";
  ::send(socket_.get(), greeting.data(), greeting.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  clock_.hold();
}

void RankLease::check_connection() {
  std::string ignored;
  const int failure = state_of(socket_.get(), ignored);
  if (failure == 0) return;
  // The kernel has waited for the whole lease before it reports silence.
  clock_.lose(Steady::now(), is_silence(failure) ? milliseconds(kRankLease) : milliseconds(0));
  try_later();
}

void RankLease::try_later() {
  socket_ = UniqueFd();
  next_try_ = Steady::now() + kBetweenLeaseTries;
  if (!clock_.was_held() && ++tries_ >= kFirstTries) head_.reset();
}

bool is_silence(int error_number) noexcept {
  return error_number == ETIMEDOUT || error_number == EHOSTUNREACH || error_number == ENETUNREACH ||
         error_number == EHOSTDOWN;
}

LeaseListener::LeaseListener() : events_(::epoll_create1(EPOLL_CLOEXEC)), most_(most_links()) {
  try {
    const std::uint16_t port = find_free_ports(1).front();
    listener_ = listen_on(port);
    if (listener_ && watch(listener_.get())) port_ = port;
  } catch (const Error&) {
    return;  // Without a port the ranks have no lease.
  }
}

bool LeaseListener::watch(int fd) noexcept {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  return events_ && ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void LeaseListener::look() noexcept {
  std::array<epoll_event, 64> ready;
  for (;;) {
    const int count = ::epoll_wait(events_.get(), ready.data(), ready.size(), 0);
    for (int i = 0; i < count; ++i) {
      const int fd = ready[static_cast<std::size_t>(i)].data.fd;
      const auto link = links_.find(fd);
      if (link != links_.end())
        read(link);
      else if (fd == listener_.get())
        accept();
    }
    if (count < static_cast<int>(ready.size())) return;
  }
}

void LeaseListener::read(std::map<int, Link>::iterator link) noexcept {
  const int failure = state_of(link->first, link->second.greeting);
  if (failure == 0) return;
  const int rank = rank_in(link->second.greeting);
  if (is_silence(failure) && rank >= 0 && !cut_off_) cut_off_ = rank;
  links_.erase(link);
}

void LeaseListener::accept() noexcept {
  for (;;) {
    UniqueFd link(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!link && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!link && errno == EAGAIN) return;
    if (!link || links_.size() >= most_ || !watch(link.get())) {
      listener_ = UniqueFd();  // The ranks that are not connected have no lease.
      return;
    }
    probe(link.get());
    const int fd = link.get();
    links_.emplace(fd, Link{.socket = std::move(link)});
  }
}

}  // namespace fastgpu::agent
