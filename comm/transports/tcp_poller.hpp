// The sockets that may have something to read, or room, as the kernel reports them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/unique_fd.hpp"
#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// The owner of a descriptor that is polled.
struct PollSource {
  enum class Kind : std::uint8_t {
    connection,       ///< The connection `flow` to `rank`.
    process,          ///< The process of `rank`; readable once it has ended.
    new_connections,  ///< Connections that were made in place of others.
    network           ///< Another network.
  };

  Rank rank{};
  std::uint16_t flow = 0;
  Kind kind = Kind::connection;
};

/// The state of a descriptor of which there is news.
struct Readiness {
  PollSource source{};
  bool has_news = false;  ///< There is something to read, or the other side has ended.
  bool has_room = false;  ///< There is room to write.
};

/// The news that are waited for.
struct PollInterest {
  bool in_bytes = true;  ///< Without it the end of a connection alone is reported.
  bool in_room = false;
};

class TcpPoller {
 public:
  TcpPoller();

  /// Returns a descriptor that is readable once there is news.
  int descriptor() const noexcept { return epoll_.get(); }

  /// Polls a descriptor for reading. Throws ErrorKind::capacity or local, with `doing`.
  void add(int descriptor, const PollSource& source, const char* doing);
  void change(int descriptor, const PollSource& source, PollInterest interest) noexcept;
  void remove(int descriptor) noexcept;

  /// Returns the descriptors with news, some at a time, without waiting. Valid until the next call.
  std::span<const Readiness> look();

 private:
  static constexpr std::size_t kMostATurn = 32;

  UniqueFd epoll_;
  std::array<Readiness, kMostATurn> ready_{};
};

}  // namespace fastgpu::comm
