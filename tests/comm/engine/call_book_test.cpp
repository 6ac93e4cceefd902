#include "comm/engine/call_book.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;

Note barrier(std::uint64_t sequence) {
  return encode({.kind = CallKind::barrier, .sequence = sequence});
}

std::uint64_t number_of(std::uint64_t communicator, std::uint64_t sequence) {
  return communicator * kSequences + sequence % kSequences;
}

TEST_SUITE_BEGIN("comm/call_book");

TEST_CASE("a rank in another call is told at once, or once this rank gets there") {
  CallBook book(Rank{0});
  book.begin(number_of(0, 0), barrier(0));
  CHECK_NOTHROW(book.on_note(number_of(0, 0), {1}, barrier(0)));
  CHECK(test::failure_of([&] {
          book.on_note(number_of(0, 0), {1}, encode(Call{.kind = CallKind::broadcast}));
        }).kind() == ErrorKind::usage);
  CHECK_NOTHROW(
      book.on_note(number_of(0, 1), {1}, encode(Call{.kind = CallKind::broadcast, .sequence = 1})));
  CHECK(test::failure_of([&] { book.begin(number_of(0, 1), barrier(1)); }).kind() ==
        ErrorKind::usage);
}

TEST_CASE("what is said of a call long past is neither checked nor kept for its number's return") {
  CallBook book(Rank{0});
  for (const std::uint64_t communicator : {1, 2}) {
    for (std::uint64_t sequence = 0; sequence < 5000; ++sequence)
      book.begin(number_of(communicator, sequence), barrier(sequence));
    CHECK_NOTHROW(book.on_note(number_of(communicator, 7), {1}, barrier(7)));
  }
  for (std::uint64_t sequence = 5000; sequence < kSequences - 10; sequence += 65'521)
    book.begin(number_of(1, sequence), barrier(sequence));
  for (std::uint64_t sequence = kSequences - 10; sequence < kSequences + 10; ++sequence)
    book.begin(number_of(1, sequence), barrier(sequence));
  CHECK_NOTHROW(book.begin(number_of(1, kSequences + 10), barrier(kSequences + 10)));
  CHECK_NOTHROW(book.on_note(number_of(1, kSequences - 3), {1}, barrier(kSequences - 3)));
  CHECK_NOTHROW(book.on_note(number_of(1, kSequences + 11), {1}, barrier(kSequences + 11)));
  CHECK_NOTHROW(book.begin(number_of(1, kSequences + 11), barrier(kSequences + 11)));
}

TEST_CASE("communicators that are used side by side do not hide each other's calls") {
  CallBook book(Rank{0});
  for (std::uint64_t sequence = 0; sequence < 3000; ++sequence) {
    book.begin(number_of(1, sequence), barrier(sequence));
    book.begin(number_of(2, sequence / 2), barrier(sequence / 2));
    CHECK(test::failure_of([&] {
            book.on_note(number_of(1, sequence), {1}, barrier(sequence + 1));
          }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("of ranks that are ahead and differ, the one that differs from this rank is found") {
  const Note broadcast = encode(Call{.kind = CallKind::broadcast, .sequence = 3});
  for (const Rank diverged : {Rank{1}, Rank{2}, Rank{4}}) {
    CAPTURE(diverged.value);
    CallBook book(Rank{0});
    for (const int from : {1, 2, 3, 4})
      book.on_note(number_of(0, 3), Rank{from}, Rank{from} == diverged ? broadcast : barrier(3));
    for (const std::uint64_t sequence : {0, 1, 2})
      CHECK_NOTHROW(book.begin(number_of(0, sequence), barrier(sequence)));
    const std::string message =
        test::failure_of([&] { book.begin(number_of(0, 3), barrier(3)); }).what();
    CHECK(message.starts_with("rank " + std::to_string(diverged.value) + " is in broadcast"));
    CHECK_NOTHROW(book.begin(number_of(0, 4), barrier(4)));
  }
}

TEST_CASE("a rank that is ahead by thousands of calls is held against each of them") {
  constexpr std::uint64_t kAhead = 50'000;
  CallBook book(Rank{0});
  for (std::uint64_t sequence = 0; sequence < kAhead; ++sequence)
    book.on_note(number_of(1, sequence), Rank{1}, barrier(sequence));
  for (std::uint64_t sequence = 0; sequence < kAhead; ++sequence) {
    const bool is_last = sequence + 1 == kAhead;
    const Note note = is_last ? encode(Call{.kind = CallKind::broadcast, .sequence = sequence})
                              : barrier(sequence);
    const auto begin = [&] { book.begin(number_of(1, sequence), note); };
    if (is_last)
      CHECK(test::failure_of(begin).kind() == ErrorKind::usage);
    else
      begin();
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
