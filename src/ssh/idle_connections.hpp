// Connections that have logged in and carry nothing, for whoever goes to the same host next: a
// login costs both sides two dozen milliseconds of CPU and some seven times the way there and back.
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

  /// One that leads to `host` as it is described, and has not been idle for long; null where there
  /// is none. The host may have gone away since.
  std::unique_ptr<Connection> take(const Host& host, time_point now);

  void put(std::unique_ptr<Connection> connection, time_point now);

  /// Closes the one that has been idle longest; false where there is none.
  bool drop_one();

  std::size_t size() const noexcept { return idle_.size(); }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    time_point since;
  };
  std::list<Idle> idle_;  // The longest idle one first.
};

}  // namespace fastgpu::ssh
