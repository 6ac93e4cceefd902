// The lease of ranks on nodes without the supervisor: a connection to it, which the kernel probes.
// A rank that is cut off from the first node ends, whatever has become of the launcher.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  explicit RankLease(std::optional<HeadAddress> head);

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
  UniqueFd socket_;
  bool is_connecting_ = false;
  int tries_ = 0;
  Steady::time_point next_try_{};
  LeaseClock clock_;
};

/// The side of the supervisor: accepts connections and keeps them.
class LeaseListener {
 public:
  /// Opens a port, unless all are taken.
  LeaseListener();

  int fd() const noexcept { return listener_.get(); }
  std::uint16_t port() const noexcept { return port_; }  ///< 0 without a port.
  /// Accepts the connections that wait.
  void accept() noexcept;

 private:
  std::uint16_t port_ = 0;
  UniqueFd listener_;
  std::size_t most_;
  std::vector<UniqueFd> links_;
};

}  // namespace fastgpu::agent
