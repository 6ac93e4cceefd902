#include "provision/providers/local/subnet.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/failure.hpp"

using namespace fastgpu;
using namespace fastgpu::provision::local;

namespace {

AddressRange range(const char* subnet, int prefix) {
  return range_of(parse_subnet(std::string(subnet) + "/24")->network, prefix);
}

}  // namespace

TEST_CASE("an empty machine gives the first subnet of the first range") {
  CHECK(to_string(choose_subnet({})) == "10.64.0.0/24");
}

TEST_CASE("a subnet in use is passed over, and so is one that lies in a larger range") {
  const std::vector<AddressRange> taken = {range("10.64.0.0", 24), range("10.64.1.0", 32),
                                           range("10.64.4.0", 22)};
  CHECK(to_string(choose_subnet(taken)) == "10.64.2.0/24");
  const std::vector<AddressRange> more = {range("10.64.0.0", 22), range("10.64.4.0", 22)};
  CHECK(to_string(choose_subnet(more)) == "10.64.8.0/24");
}

TEST_CASE("a private network that claims all of 10.0.0.0/8 drives us into the next range") {
  const std::vector<AddressRange> taken = {range("10.0.0.0", 8)};
  CHECK(to_string(choose_subnet(taken)) == "100.64.0.0/24");
}

TEST_CASE("no free subnet at all is said to be one of capacity") {
  const std::vector<AddressRange> taken = {range_of({0}, 0)};
  CHECK(test::failure_of([&] { choose_subnet(taken); }).kind() == ErrorKind::capacity);
}

TEST_CASE("a range ends where its prefix says") {
  const AddressRange all = range("10.64.3.0", 22);
  CHECK(to_string(all.first) == "10.64.0.0");
  CHECK(to_string(all.last) == "10.64.3.255");
  CHECK(range_of({7}, 32).first == range_of({7}, 32).last);
}

TEST_CASE("the text of a subnet is read back, and everything else is refused") {
  CHECK(to_string(*parse_subnet("100.64.7.0/24")) == "100.64.7.0/24");
  for (const char* wrong : {"", "/24", "10.64.0.1/24", "10.64.0.0/16", "10.64.0.0", "a.b.c.d/24"})
    CHECK_FALSE(parse_subnet(wrong).has_value());
}

TEST_CASE("nodes have the addresses from .10 on, and the bridge has .1") {
  const Subnet subnet = *parse_subnet("10.64.3.0/24");
  CHECK(to_string(subnet.bridge()) == "10.64.3.1");
  CHECK(to_string(subnet.node(0)) == "10.64.3.10");
  CHECK(to_string(subnet.node(kMostNodes - 1)) == "10.64.3.249");
  CHECK(test::failure_of([] { check_index(kMostNodes); }).kind() == ErrorKind::usage);
}
