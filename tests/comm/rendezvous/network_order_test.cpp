#include "comm/rendezvous/network_order.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;
using test::mentions;

Endpoint address(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {.address = {std::byte{a}, std::byte{b}, std::byte{c}, std::byte{d}}};
}

const std::vector<LocalAddress> kMine{{address(10, 80, 0, 1), 24}, {address(10, 81, 0, 1), 24}};

TEST_SUITE_BEGIN("comm/rendezvous");

TEST_CASE("networks that two ranks name in another order are refused with both addresses") {
  const std::vector<Endpoint> theirs{address(10, 81, 0, 2), address(10, 80, 0, 2)};
  const Error e = failure_of([&] { check_order_of_networks({1}, kMine, theirs); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e,
                 "rank 1 has another order of networks in FASTGPU_COMM_INTERFACE: its number 1, "
                 "10.81.0.2, is in the network of number 2 here, 10.81.0.1/24"));
}

TEST_CASE("networks in the same order are taken, also one network twice and those behind routers") {
  const std::vector<std::vector<Endpoint>> others{{address(10, 80, 0, 2), address(10, 81, 0, 2)},
                                                  {address(10, 90, 0, 2), address(10, 91, 0, 2)},
                                                  {address(10, 80, 0, 2), address(10, 91, 0, 2)},
                                                  {address(10, 80, 0, 2), address(10, 80, 0, 3)}};
  for (std::size_t i = 0; i + 1 < others.size(); ++i)
    CHECK_NOTHROW(check_order_of_networks({1}, kMine, others[i]));
  const std::vector<LocalAddress> same{{address(10, 80, 0, 1), 24}, {address(10, 80, 0, 4), 24}};
  CHECK_NOTHROW(check_order_of_networks({1}, same, others.back()));
  const std::vector<LocalAddress> unknown{{address(10, 80, 0, 1), 0}, {address(10, 81, 0, 1), 0}};
  CHECK_NOTHROW(check_order_of_networks(
      {1}, unknown, std::vector<Endpoint>{address(10, 81, 0, 2), address(10, 80, 0, 2)}));
}

TEST_CASE("the prefixes of this machine's addresses are known") {
  const auto loopback =
      local_addresses(std::vector<Endpoint>{address(127, 0, 0, 1)}, all_addresses_of_machine());
  REQUIRE(loopback.size() == 1);
  CHECK(loopback[0].prefix == 8);
  CHECK(local_addresses(std::vector<Endpoint>{address(192, 0, 2, 77)}, {})[0].prefix == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
