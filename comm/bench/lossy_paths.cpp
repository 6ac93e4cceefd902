// Paths between two hosts that lose packets: bench_comm_paths SEED PID PID
// MBIT,MILLISECONDS,LOSS... For each path the networks of both processes get an interface eth0,
// eth1, ... Every IP packet that one side sends is forwarded to the other at the path's rate and
// after its delay, or dropped: a share LOSS of all, chosen by SEED, and those for which the queue
// has no room. So the TCP of both ends sees the loss, and sends again. Prints "ready", and forwards
// until its input ends; then it prints how many packets it has forwarded and dropped.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::bench {
namespace {

using PathClock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A packet waits no longer than this for its turn; what comes after it is dropped.
constexpr PathClock::duration kLongestQueue = 20ms;
constexpr std::size_t kLongestPacket = 65'536;
/// Packets that are read from one side before the others get their turn.
constexpr int kBatch = 64;

struct PathSettings {
  double mbit = 0;
  double milliseconds = 0;
  double loss = 0;
};

PathSettings path_settings(const char* text) {
  std::array<double, 3> numbers{};
  const char* from = text;
  const char* const last = text + std::strlen(text);
  bool are_numbers = true;
  for (double& number : numbers) {
    const auto [stop, error] = std::from_chars(from, last, number);
    are_numbers = are_numbers && error == std::errc();
    from = stop < last && *stop == ',' ? stop + 1 : stop;
  }
  const PathSettings path{.mbit = numbers[0], .milliseconds = numbers[1], .loss = numbers[2]};
  if (!are_numbers || from != last || path.mbit <= 0 || path.milliseconds < 0 || path.loss < 0 ||
      path.loss > 1)
    throw Error(ErrorKind::usage, std::string("'") + text + "' is not MBIT,MILLISECONDS,LOSS");
  return path;
}

/// One direction of a path: its queue, as a wire that transmits one packet after another.
class Direction {
 public:
  Direction(const PathSettings& path, std::uint32_t seed)
      : nanoseconds_a_byte_(8'000 / path.mbit),
        delay_(static_cast<std::int64_t>(path.milliseconds * 1e6)),
        loss_(path.loss),
        random_(seed) {}

  void take(const std::byte* packet, std::size_t bytes, PathClock::time_point now) {
    const auto begin = std::max(now, free_at_);
    const bool is_lost = std::bernoulli_distribution(loss_)(random_);
    if (is_lost || begin - now > kLongestQueue) {
      ++dropped;
      return;
    }
    const auto time = std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(bytes) * nanoseconds_a_byte_));
    free_at_ = begin + time;
    waiting_.push_back({free_at_ + delay_, {packet, packet + bytes}});
  }

  /// Writes the packets whose time has come.
  void deliver(int to, PathClock::time_point now) {
    for (; !waiting_.empty() && waiting_.front().due <= now; waiting_.pop_front()) {
      const auto& bytes = waiting_.front().bytes;
      if (::write(to, bytes.data(), bytes.size()) < 0)
        ++dropped;  // The other side has no room, as a host may have none.
      else
        ++forwarded;
    }
  }

  std::optional<PathClock::time_point> next() const {
    if (waiting_.empty()) return std::nullopt;
    return waiting_.front().due;
  }

  std::uint64_t forwarded = 0;
  std::uint64_t dropped = 0;

 private:
  struct Packet {
    PathClock::time_point due;
    std::vector<std::byte> bytes;
  };

  double nanoseconds_a_byte_;
  std::chrono::nanoseconds delay_;
  double loss_;
  std::mt19937 random_;
  PathClock::time_point free_at_{};
  std::deque<Packet> waiting_;
};

UniqueFd opened(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file) throw system_error("opening " + path, errno);
  return file;
}

/// Makes an interface in the network of a process; what is sent by it is read here.
UniqueFd make_interface(const std::string& pid, const std::string& name) {
  const UniqueFd own = opened("/proc/self/ns/net", O_RDONLY);
  const UniqueFd other = opened("/proc/" + pid + "/ns/net", O_RDONLY);
  if (::setns(other.get(), CLONE_NEWNET) != 0) throw system_error("entering a network", errno);
  UniqueFd made = opened("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(made.get(), TUNSETIFF, &request) != 0) throw system_error("making " + name, errno);
  if (::setns(own.get(), CLONE_NEWNET) != 0) throw system_error("leaving a network", errno);
  return made;
}

/// An end of a path, and the direction in which its packets go.
struct Side {
  UniqueFd interface;
  Direction out;
};

class Paths {
 public:
  Paths(std::uint32_t seed, const std::string& one, const std::string& other,
        const std::vector<PathSettings>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const std::string& pid : {one, other})
        sides_.push_back({make_interface(pid, "eth" + std::to_string(i)),
                          Direction(all[i], seed + static_cast<std::uint32_t>(sides_.size()))});
  }

  /// Forwards until the input of this program ends.
  void forward() {
    std::vector<pollfd> polled;
    for (const Side& side : sides_)
      polled.push_back({side.interface.get(), POLLIN, 0});
    polled.push_back({STDIN_FILENO, POLLIN, 0});
    while (polled.back().revents == 0) {
      const timespec wait = time_to_next();
      if (::ppoll(polled.data(), polled.size(), &wait, nullptr) < 0 && errno != EINTR)
        throw system_error("waiting for packets", errno);
      for (std::size_t i = 0; i < sides_.size(); ++i)
        if (polled[i].revents != 0) read_from(sides_[i]);
      deliver();
    }
  }

  void report() const {
    std::uint64_t forwarded = 0;
    std::uint64_t dropped = 0;
    for (const Side& side : sides_) {
      forwarded += side.out.forwarded;
      dropped += side.out.dropped;
    }
    std::printf("{\"forwarded\": %llu, \"dropped\": %llu}\n",
                static_cast<unsigned long long>(forwarded),
                static_cast<unsigned long long>(dropped));
  }

 private:
  void read_from(Side& side) {
    for (int i = 0; i < kBatch; ++i) {
      const ::ssize_t bytes = ::read(side.interface.get(), packet_.data(), packet_.size());
      if (bytes <= 0) return;
      side.out.take(packet_.data(), static_cast<std::size_t>(bytes), PathClock::now());
    }
  }

  /// Sides are in pairs.
  void deliver() {
    const auto now = PathClock::now();
    for (std::size_t i = 0; i < sides_.size(); ++i)
      sides_[i].out.deliver(sides_[i ^ 1].interface.get(), now);
  }

  timespec time_to_next() const {
    PathClock::duration wait = 1s;
    const auto now = PathClock::now();
    for (const Side& side : sides_)
      if (const auto due = side.out.next())
        wait = std::min(wait, std::max(*due - now, PathClock::duration::zero()));
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(wait).count();
    return {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  }

  std::vector<Side> sides_;
  std::vector<std::byte> packet_ = std::vector<std::byte>(kLongestPacket);
};

int run(int count, char** arguments) {
  if (count < 5) {
    std::fprintf(stderr,
                 "usage: bench_comm_paths SEED PID PID MBIT,MILLISECONDS,LOSS...\n"
                 "example: bench_comm_paths 1 4711 4712 100,1,0.01 50,1,0.01\n");
    return 2;
  }
  std::vector<PathSettings> all;
  for (int i = 4; i < count; ++i)
    all.push_back(path_settings(arguments[i]));
  const auto seed = static_cast<std::uint32_t>(std::strtoul(arguments[1], nullptr, 10));
  Paths paths(seed, arguments[2], arguments[3], all);
  std::printf("ready\n");
  std::fflush(stdout);
  paths.forward();
  paths.report();
  return 0;
}

}  // namespace
}  // namespace fastgpu::bench

int main(int count, char** arguments) try {
  return fastgpu::bench::run(count, arguments);
} catch (const fastgpu::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
