#include "comm/transports/staged_messages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kUnitsOfTest = 8;

/// The copies of a rank, and the memory that its peers see.
struct StagedCopies {
  std::vector<std::byte> memory = std::vector<std::byte>(kUnitsOfTest * StagedMessages::kUnit);
  test::TransportReports reports;
  StagedMessages staged{memory, reports};

  /// Copies a message and announces it; returns nothing without room.
  std::optional<StagedMessages::Copy> add(Outgoing& message) {
    const auto copy = staged.add(message);
    if (copy) staged.announced(*copy);
    return copy;
  }
  std::span<const std::byte> at(StagedMessages::Copy copy, std::size_t bytes) const {
    return std::span(memory).subspan(StagedMessages::offset_of(copy), bytes);
  }
};

TEST_SUITE_BEGIN("comm/staged_messages");

TEST_CASE("messages with the same bytes have one copy, and are done once the last is announced") {
  StagedCopies all;
  std::vector<std::byte> bytes(20'000, std::byte{5});
  std::vector<Outgoing> messages;
  for (const int peer : {1, 2, 3})
    messages.push_back({.peer = {peer}, .bytes = bytes, .same_messages = 3});
  const auto copy = all.add(messages[0]);
  REQUIRE(copy);
  CHECK(all.add(messages[1]) == copy);
  CHECK(all.reports.sent_messages == 0);
  CHECK(all.staged.waits_for({1}));
  CHECK_FALSE(all.staged.waits_for({3}));
  CHECK(all.add(messages[2]) == copy);
  CHECK(all.reports.sent_messages == 3);
  CHECK_FALSE(all.staged.waits_for({1}));
  CHECK(messages[0].moved == bytes.size());
  // The caller may write there now, and the next call has a copy of its own.
  std::ranges::fill(bytes, std::byte{6});
  CHECK(std::ranges::count(all.at(*copy, bytes.size()), std::byte{5}) == std::ssize(bytes));
  const auto next = all.add(messages[0]);
  REQUIRE(next);
  CHECK(next != copy);
}

TEST_CASE("a copy is there until its last reader has taken it") {
  StagedCopies all;
  const std::vector<std::byte> bytes(kUnitsOfTest * StagedMessages::kUnit);
  Outgoing to_one{.peer = {1}, .bytes = bytes, .same_messages = 2};
  Outgoing to_two{.peer = {2}, .bytes = bytes, .same_messages = 2};
  Outgoing further{.peer = {1}, .bytes = std::span(bytes).first(1)};
  const auto copy = all.add(to_one);
  REQUIRE(copy);
  all.add(to_two);
  all.staged.taken(*copy, {1});
  CHECK_FALSE(all.add(further));
  all.staged.taken(*copy, {2});
  CHECK(all.add(further));
}

TEST_CASE("a message of which others are missing is done once it has been read") {
  StagedCopies all;
  const std::vector<std::byte> bytes(20'000);
  Outgoing to_one{.peer = {1}, .bytes = bytes, .same_messages = 3};
  Outgoing to_two{.peer = {2}, .bytes = bytes, .same_messages = 3};
  const auto copy = all.add(to_one);
  all.add(to_two);
  REQUIRE(copy);
  all.staged.taken(*copy, {2});
  CHECK(all.reports.sent_messages == 1);
  CHECK(to_two.moved == bytes.size());
  CHECK(all.staged.waits_for({1}));
  all.staged.taken(*copy, {1});
  CHECK(all.reports.sent_messages == 2);
  CHECK(all.add(to_one) == copy);
}

TEST_CASE("messages to a rank that is lost are forgotten, and their copies stay") {
  StagedCopies all;
  const std::vector<std::byte> bytes(kUnitsOfTest * StagedMessages::kUnit);
  Outgoing message{.peer = {1}, .bytes = bytes, .same_messages = 2};
  REQUIRE(all.add(message));
  all.staged.forget({1});
  CHECK_FALSE(all.staged.waits_for({1}));
  CHECK_FALSE(all.add(message));
  CHECK(all.reports.sent_messages == 0);
}

TEST_CASE("copies never overlap, and what is given back is used again") {
  std::mt19937 random(1);
  StagedCopies all;
  std::map<StagedMessages::Copy, std::vector<std::byte>> unread;
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<std::byte> bytes(1 + random() % (3 * StagedMessages::kUnit),
                                       std::byte(i & 0xff));
    Outgoing message{.peer = {1}, .bytes = bytes};
    if (const auto copy = all.add(message)) {
      REQUIRE_FALSE(unread.contains(*copy));
      unread[*copy] = bytes;
    } else {
      ++refused;
      const auto oldest = std::next(unread.begin(), random() % unread.size());
      CHECK(std::ranges::equal(all.at(oldest->first, oldest->second.size()), oldest->second));
      all.staged.taken(oldest->first, {1});
      unread.erase(oldest);
    }
  }
  CHECK(refused > 100);
  for (const auto& [copy, bytes] : unread)
    CHECK(std::ranges::equal(all.at(copy, bytes.size()), bytes));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
