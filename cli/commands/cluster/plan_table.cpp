#include "cli/commands/cluster/plan_table.hpp"
#include "base/join.hpp"
#include "cli/commands/shared/offer_views.hpp"

#include <algorithm>

#include "cli/commands/cluster/money_options.hpp"

namespace fastgpu::cli {
namespace {

using provision::cloud::kRankingCurrency;
using provision::cloud::Market;
using provision::cloud::Place;

constexpr std::size_t kZonesNamed = 3;

/// Places that differ only in their zones.
struct PlanRow {
  std::string cloud;
  Place place;  ///< The first of the places.
  std::vector<std::string> zones;
};

std::optional<Money> compared(const CloudPlan& plan, const std::optional<Money>& price) {
  if (!price) return std::nullopt;
  return plan.rates.in(kRankingCurrency, *price);
}

std::string price_cell(const CloudPlan& plan, const std::optional<Money>& price, int machines) {
  if (!price) return provision::cloud::per_hour(price);
  const Money all = *price * machines;
  return provision::cloud::per_hour(all, compared(plan, all));
}

/// Returns all places where the cluster may be created, with their clouds. Those of the plan's
/// cloud come first.
std::vector<std::pair<std::string, Place>> candidates(const CloudPlan& plan) {
  std::vector<std::pair<std::string, Place>> all;
  std::set<std::string> clouds = {plan.provider};
  for (const Place& place : plan.spec.places)
    all.emplace_back(plan.provider, place);
  while (const auto next = plan_elsewhere(plan, clouds)) {
    for (const Place& place : next->spec.places)
      all.emplace_back(next->provider, place);
    clouds.insert(next->provider);
  }
  return all;
}

bool belongs(const PlanRow& row, const std::string& cloud, const Place& place) {
  return row.cloud == cloud && row.place.site.region == place.site.region &&
         row.place.type == place.type && row.place.price_per_hour == place.price_per_hour;
}

std::vector<PlanRow> rows_of(const CloudPlan& plan) {
  std::vector<PlanRow> rows;
  for (const auto& [cloud, place] : candidates(plan)) {
    const auto row = std::ranges::find_if(
        rows, [&, &c = cloud, &p = place](const PlanRow& one) { return belongs(one, c, p); });
    if (row == rows.end())
      rows.push_back({cloud, place, {place.site.zone}});
    else
      row->zones.push_back(place.site.zone);
  }
  return rows;
}

std::string zones_text(const std::vector<std::string>& zones) {
  std::string text;
  for (std::size_t i = 0; i < std::min(zones.size(), kZonesNamed); ++i)
    text += (i == 0 ? "" : " ") + zones[i];
  if (zones.size() > kZonesNamed) text += " +" + std::to_string(zones.size() - kZonesNamed);
  return text;
}

std::string market_of(const CloudPlan& plan) {
  return plan.spec.request.market == Market::spot ? "spot" : "on-demand";
}

/// Returns the exchange rates that the plan's prices need; "" for none.
std::string bases(const CloudPlan& plan) {
  std::set<std::string> texts;
  for (const auto& [cloud, place] : candidates(plan))
    if (place.price_per_hour && place.price_per_hour->currency != kRankingCurrency)
      texts.insert(plan.rates.basis(place.price_per_hour->currency, kRankingCurrency));
  return joined(texts);
}

}  // namespace

Table plan_table(const CloudPlan& plan, int nodes) {
  Table table{.columns = {{"CLOUD"},
                          {"REGION"},
                          {"ZONES"},
                          {"TYPE"},
                          {"GPUS"},
                          {"MARKET"},
                          {"NODES"},
                          {"NODE PRICE"},
                          {"TOTAL PRICE"},
                          {"TAKEN"}},
              .rows = {}};
  for (const PlanRow& row : rows_of(plan)) {
    const bool is_first = table.rows.empty();
    const auto& price = row.place.price_per_hour;
    table.rows.push_back({row.cloud, row.place.site.region, zones_text(row.zones), row.place.type,
                          row.place.gpus.empty() ? "-" : row.place.gpus, market_of(plan),
                          std::to_string(nodes), price_cell(plan, price, 1),
                          price_cell(plan, price, nodes), is_first ? "first" : "fallback"});
  }
  return table;
}

Json plan_json(const CloudPlan& plan, int nodes) {
  Json places = Json::array();
  for (const auto& [cloud, place] : candidates(plan)) {
    const auto& price = place.price_per_hour;
    Json one = {{"cloud", cloud},     {"region", place.site.region}, {"zone", place.site.zone},
                {"type", place.type}, {"gpus", place.gpus},          {"market", market_of(plan)},
                {"nodes", nodes}};
    put_price(one, price);
    const auto all = price ? std::optional(*price * nodes) : std::nullopt;
    one["price_of_all_per_hour"] = money_json(all);
    one["compared"] = money_json(compared(plan, price));
    places.push_back(std::move(one));
  }
  return places;
}

std::string plan_price(const CloudPlan& plan, int nodes) {
  const auto& best = plan.spec.places.front().price_per_hour;
  std::string text = price_cell(plan, best, nodes);
  std::optional<Money> most = compared(plan, best);
  for (const auto& [cloud, place] : candidates(plan))
    if (const auto price = compared(plan, place.price_per_hour); price && (!most || *most < *price))
      most = price;
  if (most && most != compared(plan, best))
    text += ", at most " + price_text(most, nodes) + " where that has no capacity";
  const std::string basis = bases(plan);
  return text + (basis.empty() ? "" : " [" + basis + "]");
}

CloudPlan plan_of_more(Context& context, const state::Cluster& cluster) {
  CloudPlan plan{.provider = cluster.provider,
                 .spec = cluster.cloud(),
                 .offers = {},
                 .rates = rates_for(context, {})};
  const std::size_t here = cluster.placement().place;
  if (here < plan.spec.places.size()) plan.spec.places = {plan.spec.places[here]};
  return plan;
}

}  // namespace fastgpu::cli
