#include "comm/engine/call.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;
using test::mentions;

/// A part of an array of 16 bytes.
struct Stretch {
  std::size_t begin;
  std::size_t bytes;
};

struct Case {
  CallKind kind;
  Stretch in;
  Stretch out;
  int rank = 0;
};

std::array<std::byte, 16> memory;

void check(const Case& tried) {
  const auto part = [](const Stretch& of) { return std::span(memory).subspan(of.begin, of.bytes); };
  check_memory(tried.kind, {.in = part(tried.in), .out = part(tried.out)}, {tried.rank});
}

TEST_SUITE_BEGIN("comm/call");

TEST_CASE(
    "notes of calls that are alike differ in their count alone, which is where transports look") {
  Call call{.kind = CallKind::all_reduce,
            .sequence = 255,
            .bytes = 40,
            .reduction = {ElementType::float32, ReduceOp::sum}};
  Note expected = encode(call);
  CHECK(expected[kCountInNote + 7] == std::byte{255});
  expected[kCountInNote + 6] = std::byte{1};
  expected[kCountInNote + 7] = std::byte{0};
  call.sequence = 256;
  CHECK(encode(call) == expected);
}

TEST_CASE("calls that move elements of other types are named as different, and others are not") {
  Call mine{.kind = CallKind::broadcast, .sequence = 3, .bytes = 16, .root = Rank{1}};
  Call theirs = mine;
  CHECK_NOTHROW(check_same({Rank{0}, encode(mine)}, {Rank{1}, encode(theirs)}));
  mine.moved = ElementType::float32;
  theirs.moved = ElementType::int32;
  const Error e = failure_of([&] {
    check_same({Rank{0}, encode(mine)}, {Rank{1}, encode(theirs)});
  });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "rank 1 is in broadcast number 3 (4 int32 of rank 1)"));
  CHECK(mentions(e, "rank 0 is in broadcast number 3 (4 float32 of rank 1)"));
  mine.kind = CallKind::all_gather;
  CHECK(describe(mine) == "all_gather number 3 (4 float32 each)");
  mine.moved = ElementType::uint8;
  CHECK(describe(mine) == "all_gather number 3 (16 bytes each)");
}

TEST_CASE("memory that a call reads and writes at once is refused with both ranges") {
  using enum CallKind;
  const Case refused[] = {{reduce_scatter, {0, 8}, {0, 4}}, {reduce_scatter, {0, 8}, {4, 4}, 1},
                          {reduce_scatter, {0, 8}, {7, 4}}, {reduce_scatter, {0, 8}, {0, 8}},
                          {all_to_all, {0, 8}, {0, 8}},     {all_to_all, {0, 8}, {7, 8}},
                          {all_to_all, {7, 8}, {0, 8}},     {all_gather, {4, 4}, {0, 8}, 0},
                          {all_gather, {0, 4}, {0, 8}, 1},  {all_gather, {1, 4}, {0, 8}, 0},
                          {all_gather, {7, 4}, {0, 8}, 1},  {all_reduce, {0, 8}, {4, 8}},
                          {broadcast, {4, 8}, {0, 8}}};
  for (const Case& tried : refused) {
    CAPTURE(static_cast<int>(tried.kind));
    const Error e = failure_of([&] { check(tried); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "the input (" + std::to_string(tried.in.bytes) + " bytes at 0x"));
    CHECK(mentions(e, "overlaps the output (" + std::to_string(tried.out.bytes) + " bytes at 0x"));
  }
}

TEST_CASE("memory side by side, in place and of no bytes is accepted") {
  using enum CallKind;
  const Case accepted[] = {{reduce_scatter, {0, 8}, {8, 4}}, {reduce_scatter, {4, 8}, {0, 4}},
                           {all_to_all, {0, 8}, {8, 8}},     {all_to_all, {8, 8}, {0, 8}},
                           {all_gather, {0, 4}, {0, 8}, 0},  {all_gather, {4, 4}, {0, 8}, 1},
                           {all_gather, {8, 4}, {0, 8}, 1},  {all_reduce, {0, 8}, {0, 8}},
                           {all_reduce, {0, 0}, {0, 8}},     {broadcast, {0, 8}, {0, 8}},
                           {all_to_all, {4, 0}, {0, 8}},     {message, {0, 8}, {0, 0}}};
  for (const Case& tried : accepted) {
    CAPTURE(static_cast<int>(tried.kind));
    CHECK_NOTHROW(check(tried));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
