// Idle connections that are logged in, kept for the next task on the same host. A login costs both
// sides two dozen milliseconds of CPU time and about seven round trips.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "base/clock.hpp"
#include "ssh/connection.hpp"

namespace fastgpu::ssh {

class IdleConnections {
 public:
  using time_point = Clock::time_point;

  /// Returns a connection to exactly this `host` that has not been idle for long; null if there is
  /// none. The host may have closed it since.
  std::unique_ptr<Connection> take(const Host& host, time_point now);

  void put(std::unique_ptr<Connection> connection, time_point now);

  /// Closes the connection that has been idle longest. Returns false if the list is empty.
  bool drop_one();

  std::size_t size() const noexcept { return idle_.size(); }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    time_point since;
  };
  std::list<Idle> idle_;  // The longest idle connection comes first.
};

}  // namespace fastgpu::ssh
