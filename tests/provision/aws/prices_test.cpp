#include "provision/providers/aws/prices.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::aws {
namespace {

using nlohmann::json;

json product(const json& region, const json& amount) {
  const json dimension = {{"pricePerUnit", {{"USD", amount}}}};
  return {{"product", {{"attributes", {{"regionCode", region}}}}},
          {"terms", {{"OnDemand", {{"A.B", {{"priceDimensions", {{"A.B.C", dimension}}}}}}}}}};
}

PricesByRegion prices_in(const json& list) {
  PricesByRegion prices;
  add_prices(json{{"PriceList", list}}, prices);
  return prices;
}

TEST_SUITE_BEGIN("provision/aws/prices");

TEST_CASE("a page of the price list tells a type's price in each of its regions") {
  const auto prices =
      prices_in({product("us-east-1", "32.77").dump(), product("eu-west-1", "35.40").dump()});
  REQUIRE(prices.size() == 2);
  CHECK(prices.at("us-east-1").amount == doctest::Approx(32.77));
  CHECK(prices.at("eu-west-1").currency == kUsd);
}

TEST_CASE("what cannot be read and what costs nothing is not told, and the rest is") {
  const auto prices =
      prices_in({"no JSON", 7, product("us-east-1", "0.0").dump(), product("a", "dear").dump(),
                 product(json::array(), "1").dump(), json::object(), product("us-east-2", "1.5")});
  REQUIRE(prices.size() == 1);
  CHECK(prices.at("us-east-2").amount == doctest::Approx(1.5));
  CHECK(prices_in("no list").empty());
  PricesByRegion none;
  add_prices(json(), none);
  CHECK(none.empty());
}

}  // namespace
}  // namespace fastgpu::provision::aws
