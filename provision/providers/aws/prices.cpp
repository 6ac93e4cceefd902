#include "provision/providers/aws/prices.hpp"

#include "provision/cloud/answer.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::Answer;
using nlohmann::json;

constexpr int kMostPricePages = 10;  // Each page has 100 products; there are about 30 regions.

/// Returns the price in the price list's form: each product is a JSON text, with prices by terms
/// and dimensions.
std::optional<Money> price_in(const Answer& product) {
  for (const auto& [code, term] : product["terms"]["OnDemand"].members())
    for (const auto& [rate, dimension] : term["priceDimensions"].members())
      for (const auto& [currency, amount] : dimension["pricePerUnit"].members())
        if (const auto price = cloud::price_told(amount, json(currency), kUsd)) return price;
  return std::nullopt;
}

void add_price(const Answer& text, PricesByRegion& prices) {
  const cloud::JsonAnswer product =
      text.is_object() ? cloud::JsonAnswer(text) : cloud::JsonAnswer::parse(text.text());
  const std::string region = product["product"]["attributes"]["regionCode"].text();
  const auto price = price_in(product);
  if (price && !region.empty()) prices.try_emplace(region, *price);
}

json question(const std::string& type) {
  json filters = json::array();
  const auto filter = [&](const char* field, const std::string& value) {
    filters.push_back({{"Type", "TERM_MATCH"}, {"Field", field}, {"Value", value}});
  };
  filter("instanceType", type);
  filter("operatingSystem", "Linux");
  filter("tenancy", "Shared");
  filter("preInstalledSw", "NA");
  filter("capacitystatus", "Used");
  return {{"ServiceCode", "AmazonEC2"}, {"Filters", std::move(filters)}};
}

}  // namespace

void add_prices(const Answer& page, PricesByRegion& prices) {
  for (const Answer& text : page["PriceList"].items())
    add_price(text, prices);
}

std::optional<Money> Prices::of(const std::string& type, const std::string& region,
                                const Cancel& cancel) {
  if (partition_of(region).prices.empty()) return std::nullopt;
  std::promise<PricesByRegion> answer;
  std::shared_future<PricesByRegion> prices;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    auto& known = by_type_[std::string(partition_of(region).prices) + " " + type];
    is_first = !known.valid();
    if (is_first) known = answer.get_future().share();
    prices = known;
  }
  if (is_first) {
    try {
      answer.set_value(ask(type, std::string(partition_of(region).prices), cancel));
    } catch (...) {  // The threads that wait receive the same failure.
      answer.set_exception(std::current_exception());
    }
  }
  const PricesByRegion& all = prices.get();
  const auto found = all.find(region);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

PricesByRegion Prices::ask(const std::string& type, const std::string& list, const Cancel& cancel) {
  PricesByRegion prices;
  json wanted = question(type);
  for (int page = 0; page < kMostPricePages; ++page) {
    const cloud::JsonAnswer answer =
        ec2_.json("pricing", list, "AWSPriceListService.GetProducts", wanted, cancel);
    add_prices(answer, prices);
    const std::string next = answer["NextToken"].text();
    if (next.empty()) break;
    wanted["NextToken"] = next;
  }
  return prices;
}

}  // namespace fastgpu::provision::aws
