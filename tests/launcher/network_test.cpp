#include "launcher/network.hpp"

#include <doctest/doctest.h>

namespace fastgpu::launcher {
namespace {

using Addresses = std::vector<std::string>;

TEST_SUITE_BEGIN("launcher/network");

TEST_CASE("the network of the nodes is the smallest that holds them all") {
  const auto network = [](std::vector<std::string> addresses) {
    return covering_network(addresses).value_or("none");
  };
  CHECK(network({"10.1.2.2", "10.1.2.3"}) == "10.1.2.2/31");
  CHECK(network({"10.1.2.2", "10.1.2.5", "10.1.2.3"}) == "10.1.2.0/29");
  CHECK(network({"192.168.1.10", "192.168.2.10"}) == "192.168.0.0/22");
  CHECK(network({"10.0.0.1", "192.168.0.1"}) == "none");
  CHECK(network({"10.0.0.1"}) == "none");
  CHECK(network({"10.0.0.1", "10.0.0.1"}) == "none");
  CHECK(network({"10.0.0.1", "fd00::1"}) == "none");
  CHECK(network({}) == "none");
}

constexpr const char* kDocker = "172.17.0.1/16";

Addresses joined(const std::vector<NodeAddresses>& nodes) {
  return joining_addresses(nodes);
}

TEST_CASE("addresses by which nodes are known join them if they are the nodes' own") {
  CHECK(joined({{"10.0.0.1", {"10.0.0.1/24", kDocker}}, {"10.0.9.2", {kDocker, "10.0.9.2/24"}}}) ==
        Addresses{"10.0.0.1", "10.0.9.2"});
  CHECK(joined({{"fd00::1", {"fd00::1/64"}}, {"fd00::2", {"10.0.0.2/24", "fd00::2/64"}}}) ==
        Addresses{"fd00::1", "fd00::2"});
}

TEST_CASE("nodes known by names are joined by the subnet that all share, and not by docker0") {
  CHECK(joined({{"one.lab", {kDocker, "10.0.0.1/24"}}, {"two.lab", {kDocker, "10.0.0.2/24"}}}) ==
        Addresses{"10.0.0.1", "10.0.0.2"});
}

TEST_CASE("nodes behind one address, which is none of theirs, are joined by their own subnet") {
  CHECK(joined({{"192.0.2.1", {"10.0.0.1/24"}}, {"192.0.2.1", {"10.0.0.2/24"}}}) ==
        Addresses{"10.0.0.1", "10.0.0.2"});
}

TEST_CASE("of several shared subnets the one is taken by which nodes are known") {
  const Addresses one = {"10.0.0.1/24", "10.9.0.1/16"};
  const Addresses two = {"10.0.0.2/24", "10.9.0.2/16"};
  CHECK(joined({{"one", one, "10.9.0.1"}, {"two", two, "10.9.0.2"}}) ==
        Addresses{"10.9.0.1", "10.9.0.2"});
  CHECK(joined({{"one", one}, {"10.0.0.2", two}}) == Addresses{"10.0.0.1", "10.0.0.2"});
  CHECK(joined({{"one", one}, {"two", two}}).empty());
}

TEST_CASE("where no subnet is shared, the addresses at which we came in join the nodes") {
  CHECK(joined({{"one", {"10.0.1.1/24", kDocker}, "10.0.1.1"},
                {"two", {"10.0.2.1/24", kDocker}, "10.0.2.1"}}) ==
        Addresses{"10.0.1.1", "10.0.2.1"});
}

TEST_CASE("where nothing tells, no address is taken") {
  CHECK(joined({}).empty());
  CHECK(joined({{"one", {}}, {"two", {}}}).empty());
  CHECK(joined({{"one", {kDocker}, "172.17.0.1"}, {"two", {kDocker}, "172.17.0.1"}}).empty());
  CHECK(joined({{"one", {"10.0.0.1/32"}}, {"two", {"10.0.0.1/32"}}}).empty());
  CHECK(joined({{"one", {"10.0.0.1/99", "x/24"}}, {"two", {"10.0.0.2/99"}}}).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
