#include "comm/schedule/check.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "comm/schedule/compose.hpp"

using namespace fastgpu::comm;

namespace {

constexpr BufferSizes kSizes{.data = 8, .input = 8};

Piece data(std::uint64_t offset, std::uint64_t count) {
  return {{Buffer::data, offset, count}, 0};
}

/// Two ranks, each written by its own function.
template <class First, class Second>
std::string fault_of(First first, Second second) {
  std::vector<Program> programs(2);
  Writer writer0(programs[0]);
  Writer writer1(programs[1]);
  first(writer0);
  second(writer1);
  return find_fault(programs, kSizes).value_or("");
}

void nothing(Writer&) {}

}  // namespace

TEST_CASE("a send and its receive fit together") {
  CHECK(fault_of([](Writer& writer) { writer.send(1, data(0, 8)); },
                 [](Writer& writer) { writer.receive(0, data(0, 8)); }) == "");
}

TEST_CASE("a part outside its buffer is found") {
  CHECK(fault_of([](Writer& writer) { writer.send(1, data(4, 5)); }, nothing) ==
        "rank 0, step 0: elements 4 to 9 of a buffer of 8");
}

TEST_CASE("a write to input is found") {
  CHECK(fault_of(nothing, [](Writer& writer) {
          writer.copy({Buffer::input, 0, 1}, {Buffer::data, 0, 1});
        }) == "rank 1, step 0: writes input");
}

TEST_CASE("a copy between parts of different lengths is found") {
  CHECK(fault_of(nothing, [](Writer& writer) {
          writer.copy({Buffer::data, 0, 1}, {Buffer::data, 1, 2});
        }) == "rank 1, step 0: 2 elements to 1");
}

TEST_CASE("a peer that does not exist or is the rank itself is found") {
  CHECK(fault_of([](Writer& writer) { writer.send(2, data(0, 1)); }, nothing) ==
        "rank 0, step 0: peer 2 of 2 ranks");
  CHECK(fault_of([](Writer& writer) { writer.send(0, data(0, 1)); }, nothing) ==
        "rank 0, step 0: peer 0 of 2 ranks");
}

TEST_CASE("a send without receive, and a receive without send, are found") {
  CHECK(fault_of([](Writer& writer) { writer.send(1, data(0, 1)); }, nothing) ==
        "rank 0, step 0: no rank receives it");
  CHECK(fault_of(nothing, [](Writer& writer) { writer.receive(0, data(0, 1)); }) ==
        "rank 1, step 0: no rank sends it");
  CHECK(fault_of(
            [](Writer& writer) {
              writer.send(1, {data(0, 1).part, 1});
            },
            [](Writer& writer) { writer.receive(0, data(0, 1)); }) != "");
}

TEST_CASE("a receive of another length than its send is found") {
  CHECK(fault_of([](Writer& writer) { writer.send(1, data(0, 2)); },
                 [](Writer& writer) { writer.receive(0, data(0, 3)); }) ==
        "rank 1, step 0: receives 3 elements, but rank 0, step 0 sends 2");
}

TEST_CASE("ranks that receive before they send what the other waits for are found") {
  const auto exchange = [](int peer) {
    return [peer](Writer& writer) {
      writer.receive(peer, data(0, 1));
      writer.send(peer, data(0, 1));
    };
  };
  CHECK(fault_of(exchange(1), exchange(0)) == "rank 0, step 0: waits for itself");
}

TEST_CASE("ranks that overwrite what they send with what they receive are found") {
  const auto exchange = [](int peer) {
    return [peer](Writer& writer) {
      writer.send(peer, data(0, 1));
      writer.receive_reduce(peer, data(0, 1));
    };
  };
  CHECK(fault_of(exchange(1), exchange(0)) == "rank 0, step 0: waits for itself");
}
