// The side of `probe-links` that other nodes connect to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "agent/jobs/link_socket.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

using LinkClock = std::chrono::steady_clock;

/// The time of the first slot, once it is known. Thread-safe.
class SlotStart {
 public:
  void set(LinkClock::time_point when);
  /// Returns the time, or `otherwise` if it is not known by then.
  LinkClock::time_point wait_until(LinkClock::time_point otherwise);

 private:
  std::mutex mutex_;
  std::condition_variable known_;
  std::optional<LinkClock::time_point> when_;
};

/// Accepts connections with the right secret, each on a thread of its own, and serves them.
class LinkListener {
 public:
  /// Listens on those of `ports` that are free. Throws ErrorKind::local if all are taken.
  LinkListener(std::span<const std::uint16_t> ports, std::string secret,
               std::chrono::milliseconds limit, SlotStart& start);
  ~LinkListener();
  LinkListener(const LinkListener&) = delete;
  LinkListener& operator=(const LinkListener&) = delete;

  /// Waits until `count` connections have ended, or until `deadline`.
  void wait_for_ended(int count, LinkClock::time_point deadline);

 private:
  void accept_all(const std::stop_token& stop);
  void serve(LinkSocket socket);

  std::string secret_;
  std::chrono::milliseconds limit_;
  SlotStart& start_;
  std::vector<UniqueFd> listeners_;
  std::mutex mutex_;
  std::condition_variable ended_;
  int count_ = 0;
  std::list<std::jthread> servers_;
  std::jthread acceptor_;  ///< The last member: the thread uses all others.
};

}  // namespace fastgpu::agent
