#include "agent/large_packets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>

#include "agent/connect.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The traceroute range, which firewalls and administrators expect such packets in.
constexpr int kFirstPort = 33'434;
constexpr int kLastPort = 33'534;

constexpr Clock::duration kFirstPatience = 100ms;  ///< The limit for the first answer.
constexpr Clock::duration kPatience = 300ms;       ///< The limit for the answer to a small packet.
constexpr Clock::duration kLargePatience =
    2400ms;  ///< The limit for that to a large one, in all tries.
constexpr Clock::duration kFirstPause = 100ms;  ///< Between two tries; the next is twice as long.
constexpr std::size_t kSmall = 8;

/// The way to one target. The first packet is a large one, because a kernel sends one target no
/// more than six refusals at once, and one a second after that: each job that starts takes one.
class Way {
 public:
  Way(const LargePacketTarget& target, std::uint16_t port)
      : target_(target), to_(parse_address(target.address, port)) {
    begin(State::first);
    if (largest() <= kHeaders) finish();
  }

  bool is_open() const noexcept { return state_ != State::done; }
  bool loses_large() const noexcept { return loses_large_; }
  int descriptor() const noexcept { return socket_.get(); }
  Clock::time_point next() const noexcept { return std::min(next_try_, deadline_); }
  LostPacket result() const { return {target_.address, largest()}; }

  /// Takes what the kernel reports, and sends what is due.
  void progress(Clock::time_point now) {
    char ignored = 0;
    while (is_open()) {
      if (::recv(socket_.get(), &ignored, 1, 0) >= 0) return finish();  // A program.
      if (errno == EAGAIN) break;
      take(errno);
    }
    if (!is_open()) return;
    if (now >= deadline_) return give_up();
    if (now < next_try_) return;
    next_try_ = now + pause_;
    pause_ *= 2;
    const std::vector<char> bytes(is_large() ? payload() : kSmall);
    if (::send(socket_.get(), bytes.data(), bytes.size(), 0) < 0 && errno != EAGAIN) take(errno);
  }

 private:
  enum class State : std::uint8_t { first, small, large, small_again, done };

  bool is_large() const noexcept { return state_ == State::first || state_ == State::large; }
  bool is_v6() const noexcept { return to_.ss_family == AF_INET6; }

  void finish() noexcept { state_ = State::done; }

  void begin(State state) {
    state_ = is_connected_anew() ? state : State::done;
    next_try_ = Clock::now();
    deadline_ = next_try_ + (state == State::first   ? kFirstPatience
                             : state == State::large ? kLargePatience
                                                     : kPatience);
    pause_ = kFirstPause;
  }

  /// Takes another port of ours, which late answers to earlier packets do not reach.
  bool is_connected_anew() {
    socket_ = UniqueFd(::socket(to_.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    static_assert(IPV6_PMTUDISC_DO == IP_PMTUDISC_DO);
    const int whole = IP_PMTUDISC_DO;
    return socket_ &&
           ::setsockopt(socket_.get(), is_v6() ? IPPROTO_IPV6 : IPPROTO_IP,
                        is_v6() ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &whole, sizeof whole) == 0 &&
           ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to_), sizeof to_) == 0;
  }

  void take(int error) {
    if (error == EMSGSIZE && is_large()) {
      next_try_ = Clock::now();  // The kernel knows the size of the path now.
      if (++resized_ > 8) finish();
    } else if (error == ECONNREFUSED && state_ == State::small) {
      begin(State::large);
    } else {
      loses_large_ = error == ECONNREFUSED && state_ == State::small_again;
      finish();
    }
  }

  void give_up() {
    if (!is_large()) return finish();
    begin(state_ == State::first ? State::small : State::small_again);
  }

  /// Returns the bytes of the largest packet that both interfaces, and what is known of the way,
  /// allow.
  int largest() const {
    int mtu = 0;
    socklen_t size = sizeof mtu;
    const bool is_known = ::getsockopt(socket_.get(), is_v6() ? IPPROTO_IPV6 : IPPROTO_IP,
                                       is_v6() ? IPV6_MTU : IP_MTU, &mtu, &size) == 0;
    return is_known ? std::min({mtu, target_.mtu, kLargestPacket}) : 0;
  }
  std::size_t payload() const {
    const int headers = (is_v6() ? 40 : 20) + 8;
    return static_cast<std::size_t>(std::max(largest() - headers, 0));
  }

  static constexpr int kHeaders = 48;
  static constexpr int kLargestPacket = 65'000;

  LargePacketTarget target_;
  sockaddr_storage to_;
  UniqueFd socket_;
  bool loses_large_ = false;
  int resized_ = 0;
  State state_ = State::done;
  Clock::time_point next_try_{};
  Clock::time_point deadline_{};
  Clock::duration pause_ = kFirstPause;
};

}  // namespace

std::vector<LostPacket> lost_large_packets(std::span<const LargePacketTarget> targets) {
  std::random_device random;
  std::uniform_int_distribution<int> ports(kFirstPort, kLastPort);
  std::vector<Way> ways;
  for (const LargePacketTarget& target : targets)
    ways.emplace_back(target, static_cast<std::uint16_t>(ports(random)));
  for (;;) {
    std::vector<pollfd> waiting;
    const auto now = Clock::now();
    auto next = now + 1h;
    for (Way& way : ways) {
      way.progress(now);
      if (!way.is_open()) continue;
      waiting.push_back({way.descriptor(), POLLIN, 0});
      next = std::min(next, way.next());
    }
    if (waiting.empty()) break;
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max(pause, 0ms).count()));
  }
  std::vector<LostPacket> lost;
  for (const Way& way : ways)
    if (way.loses_large()) lost.push_back(way.result());
  return lost;
}

}  // namespace fastgpu::agent
