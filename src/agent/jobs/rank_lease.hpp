// The lease of ranks on nodes without the supervisor: a connection to it, which the kernel probes.
// A rank that is cut off from the first node ends, and the supervisor ends the job, whatever has
// become of the launcher.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// The address and the port of the supervisor.
struct HeadAddress {
  std::string address;
  std::uint16_t port = 0;
};

/// Parses "10.0.0.1 20433"; absent for any other text.
std::optional<HeadAddress> parse_head_address(std::string_view text);

/// Decides whether a lease has run out. Pure: the caller has the clock. A lease that was never held
/// does not run out, because a firewall may be in its way.
class LeaseClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Notes that the connection has been made.
  void hold() noexcept;
  /// Notes at `now` that the connection has broken, after a silence of that length.
  void lose(Time now, std::chrono::milliseconds silence) noexcept;

  bool was_held() const noexcept { return was_held_; }
  bool has_run_out(Time now) const noexcept { return now >= end(); }
  /// Returns when the lease runs out; Time::max() while it is held.
  Time end() const noexcept;

 private:
  bool was_held_ = false;
  std::optional<Time> lost_at_;
};

/// The side of a rank.
class RankLease {
 public:
  /// Connects in `look`; to nothing if `head` is absent.
  RankLease(std::optional<HeadAddress> head, int rank);

  pollfd wanted() const noexcept;
  /// Returns for how many milliseconds poll() may wait; -1 for any time.
  int wait() const noexcept;
  /// Connects, and connects anew after a break. Never waits.
  void look() noexcept;
  bool has_run_out() const noexcept { return clock_.has_run_out(Steady::now()); }

 private:
  using Steady = std::chrono::steady_clock;
  void connect();
  void check_attempt();
  void check_connection();
  void try_later();

  std::optional<HeadAddress> head_;
  int rank_;
  UniqueFd socket_;
  bool is_connecting_ = false;
  int tries_ = 0;
  Steady::time_point next_try_{};
  LeaseClock clock_;
};

/// Returns true for an error that ends a connection whose other side was silent for the whole
/// lease: the kernel may report what it has learned about the network instead of the timeout. Pure.
bool is_silence(int error_number) noexcept;

/// The side of the supervisor: accepts connections and keeps them.
class LeaseListener {
 public:
  /// Opens a port, unless all are taken.
  LeaseListener();

  /// Returns the descriptor to poll for reading; -1 if nothing can be accepted.
  int fd() const noexcept { return events_.get(); }
  std::uint16_t port() const noexcept { return port_; }  ///< 0 without a port.
  /// Accepts the connections that wait, and notes those that have broken. Never waits.
  void look() noexcept;
  /// Returns the first rank whose node did not answer for the whole lease; absent while all do.
  std::optional<int> cut_off_rank() const noexcept { return cut_off_; }

 private:
  struct Link {
    UniqueFd socket;
    std::string greeting{};  ///< The rank, with a line end once it has arrived.
  };
  void accept() noexcept;
  void read(std::map<int, Link>::iterator link) noexcept;
  bool watch(int fd) noexcept;

  std::uint16_t port_ = 0;
  UniqueFd events_;
  UniqueFd listener_;
  std::size_t most_;
  std::map<int, Link> links_;  ///< The key is the descriptor.
  std::optional<int> cut_off_{};
};

}  // namespace fastgpu::agent
