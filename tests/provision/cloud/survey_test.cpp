#include "provision/cloud/survey.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"

namespace fastgpu::provision::cloud {
namespace {

Offer offer(const std::string& zone, std::optional<double> price, Stock stock = Stock::enough,
            std::optional<int> quota = {}) {
  Offer made{
      .cloud = "aws", .site = {"r", zone}, .type = {.name = "t"}, .stock = stock, .quota = quota};
  if (price) made.price_per_hour = Money{*price, kUsd};
  return made;
}

const auto kRates = ExchangeRates::parse("date 2026-01-02\nEUR 1\nUSD 1\nCNY 8\n");

std::vector<std::string> zones(const std::vector<Offer>& offers) {
  std::vector<std::string> all;
  for (const Offer& each : offers)
    all.push_back(each.site.zone);
  return all;
}

TEST_CASE("a request for no region means the usual ones, for all what the cloud tells") {
  test::FakeCloud cloud;
  using Names = std::vector<std::string>;
  CHECK(regions_to_ask(cloud, "r7", Cancel{}) == Names{"r7"});
  CHECK(regions_to_ask(cloud, "all", Cancel{}) == Names{"r1", "r2"});
  CHECK(regions_to_ask(cloud, "", Cancel{}).size() > 4);
}

TEST_CASE("regions that an account has not enabled are one sentence, and other failures one each") {
  const Error denied(ErrorKind::denied, "aws: asking: credentials refused");
  const Error lost(ErrorKind::transient, "no answer");
  RegionAnswers heard{.answered = {{"aws", "r1"}},
                      .failed = {{{"aws", "r2"}, denied},
                                 {{"aws", "r3"}, denied},
                                 {{"aws", "r4"}, lost},
                                 {{"alibaba", "r1"}, denied}}};
  using Sentences = std::vector<std::string>;
  CHECK(reasons(heard) == Sentences{"aws r4: no answer",
                                    "alibaba r1: aws: asking: credentials refused",
                                    "aws: 2 regions skipped: the account has not enabled them: r2, "
                                    "r3"});
  heard = {.answered = {{"aws", "r1"}}, .failed = {{{"aws", "r2"}, denied}}};
  CHECK(reasons(heard) == Sentences{"aws: 1 region skipped: the account has not enabled it: r2"});
  heard = {.answered = {}, .failed = {{{"aws", "r1"}, denied}, {{"aws", "r2"}, denied}}};
  CHECK(reasons(heard) == Sentences{"aws: asking: credentials refused"});
}

TEST_CASE("the cheapest offer comes first, and one without a price last") {
  const auto ranked = rank({offer("none", {}), offer("dear", 9), offer("cheap", 1)}, {}, kRates);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"cheap", "dear", "none"});
}

TEST_CASE("among equal prices stock that is told comes first, then RDMA, then the name") {
  Offer fast = offer("z", 1);
  fast.type.rdma_interfaces = 4;
  const auto ranked = rank({offer("b", 1), offer("low", 1, Stock::low), fast, offer("a", 1),
                            offer("unknown", 1, Stock::unknown)},
                           {}, kRates);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"z", "a", "b", "low", "unknown"});
}

TEST_CASE("where no price is told the smaller machine comes first") {
  Offer large = offer("large", {});
  large.type.gpus = 8;
  large.type.rdma_interfaces = 4;
  Offer small = offer("small", {});
  small.type.gpus = 1;
  CHECK(zones(rank({large, small}, {}, kRates).usable) ==
        std::vector<std::string>{"small", "large"});
}

TEST_CASE("what cannot be had is told apart by its reason: stock, quota, price") {
  const MachineRequest request{.nodes = 4, .max_price = Money{5, kUsd}};
  const auto ranked = rank({offer("sold", 1, Stock::none), offer("quota", 1, Stock::enough, 3),
                            offer("dear", 6), offer("good", 5, Stock::enough, 4)},
                           request, kRates);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"good"});
  CHECK(
      why_none(ranked, request) ==
      "1 beyond the quota (room for 3 more of t in r, 4 requested; `fastgpu get quotas` shows the "
      "account's limits; to raise them, see "
      "https://console.aws.amazon.com/servicequotas/home/services/ec2/quotas), 1 over the price "
      "of 5.00 USD/h (the cheapest is 6.00 USD/h: t in "
      "dear), 1 without stock");
  CHECK(why_none({}, request) == "no cloud has such machines");
}

TEST_CASE("who wishes for RDMA gets no machine without it") {
  Offer fast = offer("fast", 2);
  fast.type.rdma_interfaces = 1;
  const auto ranked = rank({offer("plain", 1), fast}, {.rdma = true}, kRates);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"fast"});
  CHECK(why_none(ranked, {}) == "1 without RDMA");
}

Offer in_yuan(const std::string& zone, double price) {
  Offer made = offer(zone, price);
  made.cloud = "alibaba";
  made.price_per_hour->currency = kCny;
  return made;
}

TEST_CASE("offers of several currencies are ranked and bounded in one") {
  const auto all = {offer("dollars", 2), in_yuan("yuan", 8), in_yuan("many", 80)};
  const auto ranked = rank(all, {}, kRates);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"yuan", "dollars", "many"});
  CHECK(ranked.usable[0].price_per_hour == Money{8, kCny});
  CHECK(ranked.usable[0].compared == Money{1, kUsd});
  for (const Money& most : {Money{3, kUsd}, Money{24, kCny}}) {
    const auto bounded = rank(all, {.max_price = most}, kRates);
    CHECK(zones(bounded.usable) == std::vector<std::string>{"yuan", "dollars"});
    CHECK(bounded.unusable.size() == 1);
  }
}

TEST_CASE("a maximum price is not kept by an offer without a price") {
  const MachineRequest request{.max_price = Money{5, kUsd}};
  const auto ranked = rank({offer("untold", {})}, request, kRates);
  CHECK(ranked.usable.empty());
  CHECK(why_none(ranked, request) ==
        "1 without a price (replace --max-price by --instance-type, which bounds the machine, and "
        "--max-life, which bounds the time)");
}

TEST_CASE("a refusal for want of spot prices names the clouds that have none") {
  const MachineRequest request{.market = Market::spot, .max_price = Money{5, kUsd}};
  Offer untold = offer("untold", {});
  untold.cloud = "huawei";
  const std::string why = why_none(rank({untold, offer("aws", {})}, request, kRates), request);
  CHECK(why.find("2 without a price (huawei has no prices of spot machines: replace --max-price by "
                 "--instance-type") == 0);
}

TEST_CASE("a refusal because of quotas tells the largest room, and the page of every cloud") {
  Offer other = offer("b", 1, Stock::enough, 2);
  other.cloud = "huawei";
  other.type.name = "p2s";
  const MachineRequest request{.nodes = 3};
  const auto ranked = rank({offer("a", 1, Stock::enough, 0), other}, request, kRates);
  const std::string why = why_none(ranked, request);
  CHECK(why.find("2 beyond the quota (room for 2 more of p2s in r, 3 requested") == 0);
  CHECK(why.find("console.aws.amazon.com/servicequotas/home/services/ec2/quotas and "
                 "https://console.huaweicloud.com/quota)") != std::string::npos);
  const MachineRequest reserved{.nodes = 3, .reservation = "cr-1"};
  CHECK(why_none(rank({other}, reserved, kRates), reserved) ==
        "1 beyond the quota (room for 2 more of p2s in r, 3 requested of reservation cr-1)");
}

TEST_CASE("the rates of the user hold") {
  ExchangeRates rates = kRates;
  rates.set("CNY=0.5");
  const auto ranked = rank({offer("dollars", 2), in_yuan("yuan", 8)}, {}, rates);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"dollars", "yuan"});
}

TEST_CASE("a currency without a rate is refused, and the message says how to give one") {
  Offer odd = offer("odd", 2);
  odd.price_per_hour->currency = Currency("XTS");
  try {
    rank({odd}, {}, kRates);
    FAIL("ranked");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("--exchange-rate XTS=") != std::string::npos);
  }
}

TEST_CASE("what costs far more than the best is no substitute that nobody asked for") {
  const std::vector<Offer> all = {offer("best", 1), offer("near", 2), offer("dear", 7.4),
                                  offer("untold", {})};
  const auto ranked = without_dear(rank(all, {}, kRates), {});
  CHECK(zones(ranked.usable) == std::vector<std::string>{"best", "near"});
  REQUIRE(ranked.unusable.size() == 2);
  CHECK(ranked.unusable[0].second == "7.4 times the best price: not without --max-price");
  CHECK(ranked.unusable[1].second == "without a price");
  const MachineRequest request{.max_price = Money{8, kUsd}};
  const auto wished = without_dear(rank(all, request, kRates), request);
  CHECK(zones(wished.usable) == std::vector<std::string>{"best", "near", "dear"});
}

Offer untold_with(int gpus, Stock stock = Stock::enough) {
  Offer made = offer(std::to_string(gpus), {}, stock);
  made.type.gpus = gpus;
  return made;
}

TEST_CASE("where no price is known a much larger machine is no substitute that nobody asked for") {
  const std::vector<Offer> all = {untold_with(1, Stock::none), untold_with(2), untold_with(8)};
  const MachineRequest one{.gpus = 1};
  const auto ranked = without_dear(rank(all, one, kRates), one);
  CHECK(zones(ranked.usable) == std::vector<std::string>{"2"});
  const auto none =
      without_dear(rank({untold_with(1, Stock::none), untold_with(8)}, one, kRates), one);
  CHECK(none.usable.empty());
  CHECK(why_none(none, one) ==
        "1 with 8 GPUs instead of 1, at an unknown price: not without --instance-type, 1 without "
        "stock");
  for (const MachineRequest& wished : {MachineRequest{.gpus = 8}, MachineRequest{.gpus = 4},
                                       MachineRequest{.gpus = 1, .type = "t"}, MachineRequest{}})
    CHECK(without_dear(rank({untold_with(8)}, wished, kRates), wished).usable.size() == 1);
}

TEST_CASE("where no price at all is known every offer stays") {
  const auto ranked = without_dear(rank({offer("a", {}), offer("b", {})}, {}, kRates), {});
  CHECK(ranked.usable.size() == 2);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
