#include "agent/protocol/lease.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNow = 1'000'000;

LeaseRequest request_of(const std::string& holder, bool takes_over = false) {
  return {.holder = holder, .who = holder + "'s", .duration = 60s, .takes_over = takes_over};
}

TEST_CASE("a lease that nobody holds is granted, and ends by itself") {
  const LeaseAnswer answer = decide_lease({}, request_of("a"), kNow);
  CHECK(answer.is_granted);
  CHECK(answer.book.holder == "a");
  CHECK(answer.book.until == kNow + 60);
  CHECK_FALSE(decide_lease(answer.book, request_of("b"), kNow + 59).is_granted);
  CHECK(decide_lease(answer.book, request_of("b"), kNow + 60).is_granted);
}

TEST_CASE("the holder renews its lease, and is told of to others") {
  const LeaseBook book = decide_lease({}, request_of("a"), kNow).book;
  CHECK(decide_lease(book, request_of("a"), kNow + 30).book.until == kNow + 90);
  const LeaseAnswer refused = decide_lease(book, request_of("b"), kNow + 30);
  CHECK(refused.book.who == "a's");
  CHECK(refused.book.until == book.until);
}

TEST_CASE("who does not own the cluster any more gets no lease but to take it back") {
  const LeaseBook book{.owner = "b", .taken = "then"};
  CHECK_FALSE(decide_lease(book, request_of("a"), kNow).is_granted);
  CHECK(decide_lease(book, request_of("b"), kNow).is_granted);
  const LeaseAnswer back = decide_lease(book, request_of("a", true), kNow);
  CHECK(back.is_granted);
  CHECK(back.book.owner == "b");  // Until the holder says that it has all.
}

TEST_CASE("taking over waits for a change as anybody does") {
  const LeaseBook book = decide_lease({}, request_of("a"), kNow).book;
  CHECK_FALSE(decide_lease(book, request_of("b", true), kNow + 1).is_granted);
}

TEST_CASE("a running lease is broken only for who says so, and who had it since when is told") {
  LeaseBook book = decide_lease({}, request_of("a"), kNow).book;
  book = decide_lease(book, request_of("a"), kNow + 30).book;
  LeaseRequest breaking = request_of("b", true);
  breaking.breaks = true;
  const LeaseAnswer answer = parse_lease_answer(to_text(decide_lease(book, breaking, kNow + 45)));
  CHECK(answer.is_granted);
  CHECK(answer.book.holder == "b");
  CHECK(answer.broken == "a's");
  CHECK(answer.broken_since == kNow);
  CHECK(decide_lease(answer.book, breaking, kNow + 50).broken.empty());
  CHECK_FALSE(decide_lease({.owner = "c"}, {.holder = "b", .breaks = true}, kNow).is_granted);
}

TEST_CASE("a book from before leases said since when is read") {
  const std::string text = to_text(LeaseBook{.holder = "a", .until = 7});
  CHECK(parse_lease_book(text.substr(0, text.find("since"))).holder == "a");
}

TEST_CASE("a lease of a clock that was far ahead is none") {
  const LeaseBook book{.holder = "a", .until = kNow + 1'000'000};
  CHECK(decide_lease(book, request_of("b"), kNow).is_granted);
}

TEST_CASE("what is written can be read, and nonsense is refused") {
  const LeaseAnswer answer = decide_lease({.owner = "b", .taken = "then"}, request_of("b"), kNow);
  const LeaseAnswer read = parse_lease_answer(to_text(answer));
  CHECK(read.is_granted);
  CHECK(read.now == kNow);
  CHECK(read.book.until == answer.book.until);
  CHECK(read.book.taken == "then");
  CHECK(parse_lease_book(to_text(answer.book)).who == "b's");
  CHECK_THROWS_AS(parse_lease_answer("granted"), Error);
  CHECK_THROWS_AS(parse_lease_book(""), Error);
}

}  // namespace
}  // namespace fastgpu::agent
