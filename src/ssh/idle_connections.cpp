#include "ssh/idle_connections.hpp"

#include <algorithm>

namespace fastgpu::ssh {
namespace {

/// The longest idle time. A device on the way may forget a silent connection without notice.
constexpr std::chrono::seconds kLongest{30};

}  // namespace

std::unique_ptr<Connection> IdleConnections::take(const Host& host, time_point now) {
  while (!idle_.empty() && now - idle_.front().since > kLongest)
    drop_one();
  const auto found = std::ranges::find_if(
      idle_, [&](const Idle& idle) { return idle.connection->host() == host; });
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Connection> connection = std::move(found->connection);
  idle_.erase(found);
  return connection;
}

void IdleConnections::put(std::unique_ptr<Connection> connection, time_point now) {
  idle_.push_back({std::move(connection), now});
}

bool IdleConnections::drop_one() {
  if (idle_.empty()) return false;
  idle_.pop_front();
  return true;
}

}  // namespace fastgpu::ssh
