// `probe-links`: connects to other nodes, which do the same at the same time, and measures the
// connections.
//
// All nodes listen. A node connects to each of its targets and sends the secret.
// If there are time slots, the node that starts them announces the first once it is connected; in
// its slot a connection is measured in both directions.
#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "agent/connect.hpp"
#include "agent/files/disk.hpp"
#include "agent/interfaces.hpp"
#include "agent/jobs/link_listener.hpp"
#include "agent/jobs/link_socket.hpp"
#include "agent/options.hpp"
#include "agent/protocol/link_probe.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kPauseBetweenTries = 50ms;
constexpr milliseconds kLargeLimit = 3s;
constexpr int kRoundTripsAtFirst = 3, kRoundTripsInSlot = 21;
constexpr std::size_t kMostPlan = 4UL << 20U;

/// Returns the speed of an interface's link in megabits; 0 if it is unknown.
int megabits_of(int socket, const std::string& name) {
  ethtool_cmd order{};
  order.cmd = ETHTOOL_GSET;
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&order);
  if (::ioctl(socket, SIOCETHTOOL, &request) != 0) return 0;
  const std::uint32_t speed = ethtool_cmd_speed(&order);
  return speed < static_cast<std::uint32_t>(INT32_MAX) ? static_cast<int>(speed) : 0;
}

std::vector<LinkInterface> interfaces_with_links() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::vector<LinkInterface> found;
  for (const Interface& own : own_interfaces())
    found.push_back({.name = own.name,
                     .address = own.address,
                     .mtu = own.mtu,
                     .megabits = megabits_of(socket.get(), own.name)});
  return found;
}

/// One attempt to connect, to one port. Returns 0 and the socket, or an errno.
std::pair<int, UniqueFd> connect_once(const std::string& address, std::uint16_t port,
                                      LinkClock::time_point deadline) {
  ConnectAttempt attempt = begin_connection(address, port);
  while (attempt.failure == EINPROGRESS) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - LinkClock::now());
    if (left <= 0ms) return {ETIMEDOUT, UniqueFd()};
    pollfd waiting{attempt.socket.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, static_cast<int>(left.count())) > 0)
      attempt.failure = result_of_connection(attempt.socket.get());
  }
  return {attempt.failure, std::move(attempt.socket)};
}

/// A connection to one target.
class LinkProbe {
 public:
  LinkProbe(const LinkPlan& plan, const LinkTarget& target) : plan_(plan), target_(target) {
    result_.name = target.name;
  }

  /// Connects, and sends small and large messages.
  void connect(LinkClock::time_point deadline) {
    int failure = ETIMEDOUT;
    for (std::size_t i = 0; LinkClock::now() < deadline && !link_; ++i) {
      const std::uint16_t port = target_.ports[i % target_.ports.size()];
      auto [error, socket] = connect_once(target_.address, port, deadline);
      failure = error;
      if (error == 0 && greet(LinkSocket(std::move(socket), plan_.connect_timeout))) break;
      if (error == ETIMEDOUT) break;
      // The node may not listen yet, or another program has the port.
      if (i + 1 >= target_.ports.size()) std::this_thread::sleep_for(kPauseBetweenTries);
    }
    if (!link_)
      return fail(failure == ETIMEDOUT ? "no answer within " + seconds(plan_.connect_timeout)
                  : failure == 0       ? "no answer of the agent"
                                       : std::string(std::strerror(failure)));
    if (!measure_round_trip(kRoundTripsAtFirst)) return fail("the connection broke");
    if (!try_large())
      fail("small packets arrive, and large ones do not within " + seconds(kLargeLimit));
  }

  /// Announces the first slot to the target.
  void announce() {
    constexpr std::array kGo = {static_cast<char>(LinkRequest::go)};
    if (link_ && !link_.send(kGo)) fail("the connection broke");
  }

  /// Measures in the slot of this connection, with half of it for each direction.
  void measure(LinkClock::time_point start) {
    std::this_thread::sleep_until(start + target_.slot * plan_.slot);
    if (!link_) return;
    const milliseconds each = plan_.slot * 2 / 5;
    link_.set_limit(plan_.slot * 4);
    const bool is_good =
        measure_round_trip(kRoundTripsInSlot) && send_for(each) && receive_for(each);
    if (!is_good) fail("the connection stalled while it was measured");
  }

  void close() { link_ = LinkSocket(); }
  const LinkResult& result() const noexcept { return result_; }

 private:
  static std::string seconds(milliseconds time) {
    return std::to_string(time.count() / 1'000) + " s";
  }

  void fail(const std::string& why) {
    result_.failure = why;
    close();
  }

  bool greet(LinkSocket socket) {
    std::array<char, 1> answer{};
    const bool is_ours = socket && socket.send(plan_.secret) && socket.receive(answer);
    if (is_ours) link_ = std::move(socket);
    return is_ours;
  }

  bool measure_round_trip(int times) {
    constexpr std::array<char, kEcho + 1> kRequest = {static_cast<char>(LinkRequest::echo)};
    std::array<char, kEcho> answer{};
    std::vector<nanoseconds> trips;
    for (int i = 0; i < times; ++i) {
      const auto begin = LinkClock::now();
      if (!link_.send(kRequest) || !link_.receive(answer)) return false;
      trips.push_back(LinkClock::now() - begin);
    }
    const auto middle = trips.begin() + times / 2;
    std::ranges::nth_element(trips, middle);
    result_.round_trip = *middle;
    return true;
  }

  bool try_large() {
    std::vector<char> request(kLarge + 1);
    request[0] = static_cast<char>(LinkRequest::large);
    std::vector<char> answer(kLarge);
    return link_.set_limit(kLargeLimit) && link_.send(request) && link_.receive(answer);
  }

  bool send_for(milliseconds time) {
    constexpr std::array kRequest = {static_cast<char>(LinkRequest::take)};
    std::uint64_t rate = 0;
    const bool is_good =
        link_.send(kRequest) && link_.send_blocks(time) && link_.receive_number(rate);
    result_.sent = static_cast<std::int64_t>(rate);
    return is_good && rate > 0;
  }

  bool receive_for(milliseconds time) {
    constexpr std::array kRequest = {static_cast<char>(LinkRequest::provide)};
    if (!link_.send(kRequest) || !link_.send_number(static_cast<std::uint64_t>(time.count())))
      return false;
    result_.received = static_cast<std::int64_t>(link_.receive_blocks());
    return result_.received > 0;
  }

  const LinkPlan& plan_;
  const LinkTarget& target_;
  LinkSocket link_;
  LinkResult result_;
};

/// Runs `work` for each probe on a thread of its own, and waits for all.
template <class Work>
void for_each_at_once(std::vector<LinkProbe>& probes, Work work) {
  std::vector<std::jthread> threads;
  for (LinkProbe& probe : probes)
    threads.emplace_back([&probe, &work] { work(probe); });
}

LinkAnswer answer_to(const LinkPlan& plan) {
  const auto began = LinkClock::now();
  SlotStart start;
  LinkListener listener(plan.ports, plan.secret,
                        kLargeLimit + plan.connect_timeout + plan.slot * plan.slots, start);
  std::vector<LinkProbe> probes;
  probes.reserve(plan.targets.size());
  for (const LinkTarget& target : plan.targets)
    probes.emplace_back(plan, target);
  const auto connected_by = began + plan.connect_timeout;
  for_each_at_once(probes, [&](LinkProbe& probe) { probe.connect(connected_by); });
  auto deadline = connected_by + kLargeLimit + kPauseBetweenTries;
  if (plan.slot > 0ms) {
    if (plan.starts_slots) {
      for (LinkProbe& probe : probes)
        probe.announce();
      start.set(LinkClock::now() + kBeforeSlots);
    }
    const auto first = start.wait_until(deadline + kBeforeSlots);
    deadline = first + plan.slot * (plan.slots + 4);
    for_each_at_once(probes, [&](LinkProbe& probe) { probe.measure(first); });
  }
  for (LinkProbe& probe : probes)
    probe.close();
  listener.wait_for_ended(plan.incoming, deadline);
  LinkAnswer answer{.interfaces = interfaces_with_links(), .links = {}};
  for (const LinkProbe& probe : probes)
    answer.links.push_back(probe.result());
  return answer;
}

}  // namespace

int run_probe_links(Arguments arguments) {
  OptionReader options(arguments);
  options.expect_end();
  const LinkPlan plan = parse_link_plan(read_all(STDIN_FILENO, kMostPlan));
  write_all(STDOUT_FILENO, to_text(answer_to(plan)));
  return 0;
}

}  // namespace fastgpu::agent
