#include "provision/cloud/survey.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"

namespace fastgpu::provision::cloud {
namespace {

Offer offer(const std::string& zone, std::optional<double> price, Stock stock = Stock::enough,
            std::optional<int> quota = {}) {
  Offer made{
      .cloud = "aws", .site = {"r", zone}, .type = {.name = "t"}, .stock = stock, .quota = quota};
  if (price) made.price_per_hour = Money{*price, "USD"};
  return made;
}

std::vector<std::string> zones(const std::vector<Offer>& offers) {
  std::vector<std::string> all;
  for (const Offer& each : offers)
    all.push_back(each.site.zone);
  return all;
}

TEST_CASE("a wish for no region means the usual ones, for all what the cloud tells") {
  test::FakeCloud cloud;
  using Names = std::vector<std::string>;
  CHECK(regions_to_ask(cloud, "r7", Cancel{}) == Names{"r7"});
  CHECK(regions_to_ask(cloud, "all", Cancel{}) == Names{"r1", "r2"});
  CHECK(regions_to_ask(cloud, "", Cancel{}).size() > 4);
}

TEST_CASE("the cheapest offer comes first, and one without a price last") {
  const auto ranked = rank({offer("none", {}), offer("dear", 9), offer("cheap", 1)}, {});
  CHECK(zones(ranked.usable) == std::vector<std::string>{"cheap", "dear", "none"});
}

TEST_CASE("among equal prices stock that is told comes first, then RDMA, then the name") {
  Offer fast = offer("z", 1);
  fast.type.rdma_interfaces = 4;
  const auto ranked = rank({offer("b", 1), offer("low", 1, Stock::low), fast, offer("a", 1),
                            offer("unknown", 1, Stock::unknown)},
                           {});
  CHECK(zones(ranked.usable) == std::vector<std::string>{"z", "a", "b", "low", "unknown"});
}

TEST_CASE("where no price is told the smaller machine comes first") {
  Offer large = offer("large", {});
  large.type.gpus = 8;
  large.type.rdma_interfaces = 4;
  Offer small = offer("small", {});
  small.type.gpus = 1;
  CHECK(zones(rank({large, small}, {}).usable) == std::vector<std::string>{"small", "large"});
}

TEST_CASE("what cannot be had is told apart by its reason: stock, quota, price") {
  const Wish wish{.nodes = 4, .max_price = 5};
  const auto ranked = rank({offer("sold", 1, Stock::none), offer("quota", 1, Stock::enough, 3),
                            offer("dear", 6), offer("good", 5, Stock::enough, 4)},
                           wish);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"good"});
  CHECK(why_none(ranked) == "1 beyond the quota, 1 over the price, 1 without stock");
  CHECK(why_none({}) == "no cloud has such machines");
}

TEST_CASE("who wishes for RDMA gets no machine without it") {
  Offer fast = offer("fast", 2);
  fast.type.rdma_interfaces = 1;
  const auto ranked = rank({offer("plain", 1), fast}, {.rdma = true});
  CHECK(zones(ranked.usable) == std::vector<std::string>{"fast"});
  CHECK(why_none(ranked) == "1 without RDMA");
}

}  // namespace
}  // namespace fastgpu::provision::cloud
