#include "http/backoff.hpp"

#include <doctest/doctest.h>

namespace fastgpu::http {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr Backoff kBackoff{.base = 1s, .cap = 5s, .attempts = 5, .deadline = 60s};
const system_clock::time_point kNow = system_clock::from_time_t(784111777);

TEST_SUITE_BEGIN("http/backoff");

TEST_CASE("a wait is a random part of what doubles with each attempt up to the cap") {
  CHECK(next_wait(kBackoff, {.attempts = 1}, 0.0) == 0ms);
  CHECK(next_wait(kBackoff, {.attempts = 1}, 0.5) == 500ms);
  CHECK(next_wait(kBackoff, {.attempts = 2}, 0.5) == 1000ms);
  CHECK(next_wait(kBackoff, {.attempts = 3}, 0.5) == 2000ms);
  CHECK(next_wait(kBackoff, {.attempts = 4}, 0.5) == 2500ms);
}

TEST_CASE("there is no further attempt after the last, or where the deadline leaves no time") {
  CHECK_FALSE(next_wait(kBackoff, {.attempts = 5}, 0.0));
  CHECK_FALSE(next_wait(kBackoff, {.attempts = 1, .elapsed = 60s}, 0.0));
  CHECK_FALSE(next_wait(kBackoff, {.attempts = 1, .elapsed = 59s, .retry_after = 2s}, 0.0));
  const Backoff endless{.base = 1s, .cap = 5s, .attempts = 1 << 30, .deadline = 60s};
  CHECK(next_wait(endless, {.attempts = 1 << 29}, 0.5) == 2500ms);
}

TEST_CASE("a server that says when is not asked before") {
  CHECK(next_wait(kBackoff, {.attempts = 1, .retry_after = 7s}, 0.5) == 7s);
  CHECK(next_wait(kBackoff, {.attempts = 1, .retry_after = 100ms}, 0.5) == 500ms);
}

TEST_CASE("Retry-After is read as seconds and as a date") {
  CHECK(parse_retry_after("120", kNow) == 120s);
  CHECK(parse_retry_after("0", kNow) == 0s);
  CHECK(parse_retry_after("99999999999999999999", kNow) == 24h);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", kNow) == 60s);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", kNow) == 0s);
  CHECK(parse_retry_after("Sun, 06 Nov 2094 08:00:00 GMT", kNow) == 24h);
  for (const char* text :
       {"", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Xxx 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:61:37 GMT", "Sun, 06 Nov 9999 08:49:37 GMT"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_retry_after(text, kNow));
  }
}

TEST_CASE("the server's clock is ahead or behind by what its Date says") {
  CHECK(clock_offset("Sun, 06 Nov 1994 08:49:37 GMT", kNow) == 0s);
  CHECK(clock_offset("Sun, 06 Nov 1994 09:49:37 GMT", kNow) == 1h);
  CHECK(clock_offset("Sun, 06 Nov 1994 08:29:37 GMT", kNow) == -20min);
  CHECK_FALSE(clock_offset(std::nullopt, kNow));
  CHECK_FALSE(clock_offset("yesterday", kNow));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::http
