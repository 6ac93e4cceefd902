// Frames and cards of the transport by the fabric, as bytes of a peer.
#include "comm/transports/fabric_transport.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/outcome.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("comm/fabric_transport");

TEST_CASE("a frame of the fabric is read as it was written") {
  const std::array inside{std::byte{7}, std::byte{8}};
  const Note note{std::byte{1}};
  const FabricGrant grant{.total = 9'000'000'000,
                          .offset = 8'000'000'000,
                          .length = 1000,
                          .number = 77,
                          .is_tagged = true,
                          .place = {1, 2}};
  FabricFrame frames[] = {
      {.kind = FabricFrameKind::message, .note = note, .bytes = inside},
      {.kind = FabricFrameKind::message, .bytes = inside},
      {.kind = FabricFrameKind::note, .note = note},
      {.kind = FabricFrameKind::offer, .grant = {.total = 9'000'000'000}},
      {.kind = FabricFrameKind::grant, .grant = grant},
      {.kind = FabricFrameKind::done, .grant = {.length = 1000, .number = 77}},
      {.kind = FabricFrameKind::credit, .credit = std::uint64_t{1} << 40, .items = 7},
      {.kind = FabricFrameKind::question},
      {.kind = FabricFrameKind::farewell},
  };
  std::vector<std::byte> bytes(kFabricFrameBytes);
  for (FabricFrame& frame : frames) {
    frame.rank = 3;
    frame.token = ~std::uint64_t{9};
    frame.tag = {~std::uint64_t{5}};
    const std::size_t length = encode(frame, bytes);
    const FabricFrame read = decode_fabric_frame(std::span(bytes).first(length));
    CHECK(read.kind == frame.kind);
    CHECK(read.rank == 3);
    CHECK(read.token == frame.token);
    CHECK(read.tag == frame.tag);
    CHECK(read.note == frame.note);
    CHECK(std::ranges::equal(read.bytes, frame.bytes));
    CHECK(read.credit == frame.credit);
    CHECK(read.items == frame.items);
    CHECK(read.grant.total == frame.grant.total);
    CHECK(read.grant.number == frame.grant.number);
    CHECK(read.grant.offset == frame.grant.offset);
    CHECK(read.grant.place.key == frame.grant.place.key);
    FabricSender sender;
    CHECK(read_sender(std::span(bytes).first(length), sender));
    CHECK(sender.token == frame.token);
    if (frame.kind == FabricFrameKind::message) continue;
    for (const std::size_t wrong : {length - 1, length + 1})
      CHECK(failure_of([&] { decode_fabric_frame(std::span(bytes).first(wrong)); }).kind() ==
            ErrorKind::remote);
  }
}

TEST_CASE("grants that make no sense are refused") {
  const FabricGrant grants[] = {
      {.total = 10, .offset = 0, .length = 0},
      {.total = 10, .offset = 8, .length = 3},
      {.total = 10, .offset = 11, .length = 1},
      {.total = 10, .offset = ~std::uint64_t{0}, .length = 2},
      {.total = ~std::uint64_t{0}, .offset = 0, .length = kFabricPiece + 1},
  };
  std::vector<std::byte> bytes(kFabricFrameBytes);
  for (const FabricGrant& grant : grants) {
    const std::size_t length = encode({.kind = FabricFrameKind::grant, .grant = grant}, bytes);
    CHECK(failure_of([&] { decode_fabric_frame(std::span(bytes).first(length)); }).kind() ==
          ErrorKind::remote);
  }
}

TEST_CASE("an offer of a message that would go in a frame is refused") {
  std::vector<std::byte> bytes(kFabricFrameBytes);
  for (const std::size_t total : {std::size_t{0}, kFabricInside, kFabricInside + 1}) {
    const FabricFrame frame{.kind = FabricFrameKind::offer, .grant = {.total = total}};
    const std::size_t length = encode(frame, bytes);
    const auto read = attempt([&] { decode_fabric_frame(std::span(bytes).first(length)); });
    CHECK(read.ok() == (total > kFabricInside));
  }
}

TEST_CASE("the card of an endpoint is read as it was written, and nothing else is") {
  const fabric::Card card{.provider = "tcp;ofi_rxm",
                          .protocol = 11,
                          .put = fabric::Put::delivered,
                          .is_hardware = true,
                          .token = 5,
                          .scope = 6,
                          .address = std::vector<std::byte>(fabric::kMaxAddress, std::byte{9})};
  const std::vector<std::byte> bytes = encode(card);
  CHECK(bytes.size() <= fabric::kMaxCard);
  const fabric::Card read = fabric::decode_card(bytes);
  CHECK(read.provider == card.provider);
  CHECK(read.protocol == 11);
  CHECK(read.put == fabric::Put::delivered);
  CHECK(read.is_hardware);
  CHECK(read.token == 5);
  CHECK(read.scope == 6);
  CHECK(read.address == card.address);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK(failure_of([&] { fabric::decode_card(std::span(bytes).first(length)); }).kind() ==
          ErrorKind::remote);
  std::vector<std::byte> steers_terminal = bytes;
  steers_terminal[3] = std::byte{27};
  CHECK(failure_of([&] { fabric::decode_card(steers_terminal); }).kind() == ErrorKind::remote);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
