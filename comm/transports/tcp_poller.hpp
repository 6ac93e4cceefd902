// The sockets that may have something to read, or room, as the kernel reports them.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

/// A few descriptors are in an epoll instance only around sleeps: while they are, each message that
/// arrives is noted there, which costs its sender on the same machine a tenth of its time.
class TcpPoller {
 public:
  TcpPoller();

  /// Returns a descriptor that is readable once there is news, between `may_sleep` and `woke`.
  int descriptor() const noexcept { return epoll_.get(); }

  /// Polls a descriptor for reading. Throws ErrorKind::capacity or local, with `doing`.
  void add(int descriptor, const PollSource& source, const char* doing);
  void change(int descriptor, PollInterest interest) noexcept;
  /// Must come before the descriptor is closed.
  void remove(int descriptor) noexcept;

  /// Returns the descriptors with news, some at a time, without waiting. Valid until the next call.
  std::span<const Readiness> look();

  /// Prepares for sleep; returns false where the system has no room for that.
  bool may_sleep() noexcept;
  void woke() noexcept { is_asleep_ = false; }

 private:
  static constexpr std::size_t kMostATurn = 32;
  /// A look at so many takes 0.4 us by poll() and 0.1 us by epoll_wait(), and a short message 1.5
  /// us (Intel Xeon).
  static constexpr std::size_t kFew = 16;
  /// The looks after which no sleep is expected soon.
  static constexpr int kLooksAwake = 64;

  bool watch() noexcept;
  void unwatch() noexcept;
  std::span<const Readiness> look_at_each() noexcept;
  std::span<const Readiness> look_at_watched() noexcept;

  UniqueFd epoll_;
  std::vector<pollfd> polled_;
  std::vector<PollSource> sources_;  ///< The source of each in `polled_`.
  bool is_watched_ = true;           ///< True if all of them are in the epoll instance.
  bool is_asleep_ = false;
  int looks_awake_ = 0;
  std::array<Readiness, kMostATurn> ready_{};
};

}  // namespace fastgpu::comm
