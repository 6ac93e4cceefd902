#include "provision/providers/aws/prices.hpp"

#include <stdexcept>

#include "provision/cloud/answer_form.hpp"

namespace fastgpu::provision::aws {
namespace {

using nlohmann::json;

constexpr int kMostPages = 10;  // Of 100 products each; there are some 30 regions.

/// The price list's own form: a JSON text a product, prices by terms and dimensions.
std::optional<Money> price_in(const json& product) {
  for (const json& term : product.at("terms").at("OnDemand"))
    for (const json& dimension : term.at("priceDimensions"))
      for (const auto& [currency, amount] : dimension.at("pricePerUnit").items())
        if (const double value = std::stod(amount.get<std::string>()); value > 0)
          return Money{value, Currency::parse(currency)};
  return std::nullopt;
}

void add_price(const json& text, PricesByRegion& prices) try {
  const std::string written = text.is_string() ? text.get<std::string>() : "";
  if (!cloud::is_bounded_json(written)) return;
  const json product = text.is_string() ? json::parse(written) : text;
  const json& attributes = product.at("product").at("attributes");
  const auto price = price_in(product);
  if (price) prices.try_emplace(attributes.at("regionCode").get<std::string>(), *price);
} catch (const json::exception&) {
  return;
} catch (const Error&) {  // A currency that is none.
  return;
} catch (const std::logic_error&) {
  return;
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

void add_prices(const json& page, PricesByRegion& prices) {
  const auto list = page.find("PriceList");
  if (list == page.end() || !list->is_array()) return;
  for (const json& text : *list)
    add_price(text, prices);
}

std::optional<Money> Prices::of(const std::string& type, const std::string& region,
                                const Cancel& cancel) {
  std::promise<PricesByRegion> answer;
  std::shared_future<PricesByRegion> prices;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    auto& known = by_type_[type];
    is_first = !known.valid();
    if (is_first) known = answer.get_future().share();
    prices = known;
  }
  if (is_first) {
    try {
      answer.set_value(ask(type, cancel));
    } catch (const Error&) {
      answer.set_exception(std::current_exception());
    }
  }
  const PricesByRegion& all = prices.get();
  const auto found = all.find(region);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

PricesByRegion Prices::ask(const std::string& type, const Cancel& cancel) {
  PricesByRegion prices;
  json wanted = question(type);
  for (int page = 0; page < kMostPages; ++page) {
    const json answer =
        ec2_.json("pricing", "us-east-1", "AWSPriceListService.GetProducts", wanted, cancel);
    add_prices(answer, prices);
    const auto next = answer.find("NextToken");
    if (next == answer.end() || !next->is_string() || *next == "") break;
    wanted["NextToken"] = *next;
  }
  return prices;
}

}  // namespace fastgpu::provision::aws
