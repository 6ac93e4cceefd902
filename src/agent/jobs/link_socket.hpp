// A TCP connection of `probe-links`, with a limit for each step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// The first byte of each request that a probe sends to the other side.
enum class LinkRequest : char {
  echo = 'e',     ///< kEcho bytes, which come back.
  large = 'l',    ///< kLarge bytes, which come back: they need packets of the full size.
  go = 'g',       ///< The first time slot begins after kBeforeSlots.
  take = 't',     ///< Blocks until an empty one; the answer is the rate at which they came.
  provide = 'p',  ///< A number of milliseconds, for which blocks are to be sent.
};

inline constexpr std::size_t kEcho = 8;
inline constexpr std::size_t kLarge = 65'536;
inline constexpr std::size_t kBlock = 262'144;
inline constexpr std::chrono::milliseconds kBeforeSlots{500};

/// A connected, blocking socket. Each function returns false, or 0, after a failure, a lost
/// connection or a passed limit, and the connection must not be used any more.
class LinkSocket {
 public:
  LinkSocket() = default;
  /// Makes the socket blocking, with `limit` for each call that waits.
  LinkSocket(UniqueFd socket, std::chrono::milliseconds limit);

  explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  bool set_limit(std::chrono::milliseconds limit);
  bool send(std::span<const char> bytes);
  bool receive(std::span<char> bytes);

  bool send_number(std::uint64_t number);
  bool receive_number(std::uint64_t& number);

  /// Sends blocks for this long, and then an empty one.
  bool send_blocks(std::chrono::milliseconds duration);
  /// Receives blocks until an empty one. Returns the bytes per second; 0 if none came.
  std::uint64_t receive_blocks();

 private:
  UniqueFd socket_;
};

}  // namespace fastgpu::agent
