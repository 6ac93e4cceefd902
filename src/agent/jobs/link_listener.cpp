#include "agent/jobs/link_listener.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "agent/connect.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kMostServers = 1'024;
constexpr std::chrono::milliseconds kGreetingLimit{5'000};

/// Compares in a time that does not depend on the place of the difference.
bool is_same_secret(std::string_view a, std::string_view b) noexcept {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool send_back(LinkSocket& socket, std::size_t size) {
  std::vector<char> bytes(size);
  return socket.receive(bytes) && socket.send(bytes);
}

}  // namespace

void SlotStart::set(LinkClock::time_point when) {
  {
    const std::lock_guard lock(mutex_);
    if (!when_) when_ = when;
  }
  known_.notify_all();
}

LinkClock::time_point SlotStart::wait_until(LinkClock::time_point otherwise) {
  std::unique_lock lock(mutex_);
  known_.wait_until(lock, otherwise, [&] { return when_.has_value(); });
  if (!when_) when_ = otherwise;
  return *when_;
}

LinkListener::LinkListener(std::span<const std::uint16_t> ports, std::string secret,
                           std::chrono::milliseconds limit, SlotStart& start)
    : secret_(std::move(secret)), limit_(limit), start_(start) {
  for (const std::uint16_t port : ports)
    if (UniqueFd listener = listen_on(port)) listeners_.push_back(std::move(listener));
  if (listeners_.empty())
    throw Error(ErrorKind::local, "every TCP port for the check of links is taken");
  acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
}

LinkListener::~LinkListener() {
  acceptor_.request_stop();
  acceptor_.join();
  servers_.clear();  // Each ends by its limit, or when the other side closes its connection.
}

void LinkListener::wait_for_ended(int count, LinkClock::time_point deadline) {
  std::unique_lock lock(mutex_);
  ended_.wait_until(lock, deadline, [&] { return count_ >= count; });
}

void LinkListener::accept_all(const std::stop_token& stop) {
  constexpr int kPause = 50;
  std::vector<pollfd> waiting;
  for (const UniqueFd& listener : listeners_)
    waiting.push_back({listener.get(), POLLIN, 0});
  while (!stop.stop_requested()) {
    if (::poll(waiting.data(), waiting.size(), kPause) <= 0) continue;
    for (const pollfd& one : waiting) {
      UniqueFd socket(::accept4(one.fd, nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket || servers_.size() >= kMostServers) continue;
      servers_.emplace_back([this, link = LinkSocket(std::move(socket), kGreetingLimit)]() mutable {
        serve(std::move(link));
      });
    }
  }
}

void LinkListener::serve(LinkSocket socket) {
  std::string presented(secret_.size(), '\0');
  if (!socket || !socket.receive(presented) || !is_same_secret(presented, secret_)) return;
  constexpr std::array kWelcome = {'y'};
  bool is_good = socket.set_limit(limit_) && socket.send(kWelcome);
  std::array<char, 1> request{};
  while (is_good && socket.receive(request)) {
    std::uint64_t duration = 0;
    switch (static_cast<LinkRequest>(request[0])) {
      case LinkRequest::echo:
        is_good = send_back(socket, kEcho);
        continue;
      case LinkRequest::large:
        is_good = send_back(socket, kLarge);
        continue;
      case LinkRequest::go:
        start_.set(LinkClock::now() + kBeforeSlots);
        continue;
      case LinkRequest::take:
        is_good = socket.send_number(socket.receive_blocks());
        continue;
      case LinkRequest::provide:
        is_good = socket.receive_number(duration) &&
                  socket.send_blocks(std::min(std::chrono::milliseconds(duration), limit_));
        continue;
    }
    is_good = false;
  }
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  ended_.notify_all();
}

}  // namespace fastgpu::agent
