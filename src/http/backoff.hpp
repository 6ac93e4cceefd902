// Computes how long to wait before a request is retried. Pure functions that do not sleep.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace fastgpu::http {

/// The limits of retries with full jitter: the wait before retry n is a random part of base *
/// 2^(n-1), and at most the cap.
struct Backoff {
  std::chrono::milliseconds base{500};
  std::chrono::milliseconds cap{30'000};
  int attempts = 8;  ///< The number of attempts, including the first one.
  std::chrono::milliseconds deadline{300'000};  ///< The limit for all attempts and waits together.
};

/// The attempts so far.
struct Tried {
  int attempts = 1;
  std::chrono::milliseconds elapsed{0};  ///< The time since the first attempt began.
  /// The server's Retry-After. If it exceeds the time until the deadline, the request is not
  /// retried.
  std::optional<std::chrono::milliseconds> retry_after{};
};

/// Returns the wait before the next attempt; absent if no attempt is left. `random` is in [0, 1).
std::optional<std::chrono::milliseconds> next_wait(const Backoff& backoff, const Tried& tried,
                                                   double random) noexcept;

/// Parses a Retry-After header: seconds, or a date, from which the time since `now` is computed
/// (never negative). Absent for anything else. Values of more than a day count as a day.
std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view value, std::chrono::system_clock::time_point now) noexcept;

/// Parses a date of HTTP, "Sun, 06 Nov 1994 08:49:37 GMT". Absent for anything else.
std::optional<std::chrono::system_clock::time_point> parse_http_date(
    std::string_view text) noexcept;

/// Returns how far the server's clock is ahead of ours, by its Date header; absent without one.
std::optional<std::chrono::seconds> clock_offset(
    std::optional<std::string_view> date, std::chrono::system_clock::time_point now) noexcept;

}  // namespace fastgpu::http
