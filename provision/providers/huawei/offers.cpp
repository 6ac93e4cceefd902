// The offers of Huawei Cloud in a region: flavors, zones, stock, prices and quota, all requested at
// once.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "base/contains.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/where_told.hpp"
#include "provision/providers/huawei/flavors.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"
#include "provision/providers/huawei/machines.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::FailureKind;
using cloud::InstanceType;
using cloud::MachineRequest;
using cloud::Market;
using cloud::Offer;
using cloud::Quota;
using cloud::Stock;

// The price list's names for an hour of a machine, and for a disk.
constexpr const char* kMachineService = "hws.service.type.ec2";
constexpr const char* kMachineResource = "hws.resource.type.vm";
constexpr const char* kDiskService = "hws.service.type.ebs";
constexpr const char* kDiskResource = "hws.resource.type.volume";
constexpr int kHours = 4;
constexpr int kGigabytes = 17;
constexpr const char* kDataDisk = "data disk";  ///< The key of the disk's price in Survey::prices.

/// The facts about a region, each from a call of its own.
struct Survey {
  std::vector<JsonAnswer> flavors{};
  std::set<std::string> zones{};
  /// The stock of spot machines by type and zone.
  std::map<std::pair<std::string, std::string>, Stock> spot{};
  /// The zones with enough machines for the whole request, by type.
  std::map<std::string, std::set<std::string>> roomy{};
  std::map<std::string, Money> prices{};  ///< Prices by type, and of kDataDisk.
  JsonAnswer limits{};
};

JsonAnswer limits_of(Api& api, const std::string& region, const Cancel& cancel) {
  JsonAnswer answer = api.call({.region = region,
                                .action = "ShowServerLimits",
                                .path = "/v1/{project}/cloudservers/limits",
                                .doing = "asking for quotas in " + region},
                               cancel);
  return answer.take("absolute");
}

class Surveyor {
 public:
  Surveyor(Api& api, std::string region, const MachineRequest& request, const Cancel& cancel)
      : api_(api), region_(std::move(region)), wish_(request), cancel_(cancel) {}

  Survey look() {
    api_.project(region_, cancel_);  // All other calls need it.
    cloud::Tasks questions = {[&] { ask_flavors(); }, [&] { ask_zones(); },
                              [&] { cloud::where_told([&] { ask_limits(); }); }};
    if (wish_.market == Market::spot) questions.emplace_back([&] { ask_spot(); });
    cloud::at_once(questions);
    std::erase_if(survey_.flavors,
                  [&](const JsonAnswer& flavor) { return !cloud::suits(type_of(flavor), wish_); });
    if (wish_.market == Market::on_demand) cloud::at_once(about_flavors());
    return std::move(survey_);
  }

 private:
  /// Returns the questions about each type. For a type without stock the room is not asked for.
  cloud::Tasks about_flavors() {
    std::vector<std::string> types;
    cloud::Tasks questions;
    for (const JsonAnswer& each : survey_.flavors) {
      const Answer flavor = each.root();
      types.push_back(flavor["id"].text());
      if (stock_of(flavor, wish_.zone, wish_.market) == Stock::unknown)
        questions.emplace_back([this, type = types.back()] { ask_room(type); });
    }
    if (!types.empty()) questions.emplace_back([this, types] { ask_prices(types); });
    if (!types.empty() && wish_.data_disk.gib > 0)
      questions.emplace_back([this] { told_prices(json::array({disk_product()})); });
    return questions;
  }

  void ask_flavors() {
    survey_.flavors = api_.list({.region = region_,
                                 .action = "ListFlavors",
                                 .path = "/v1/{project}/cloudservers/flavors",
                                 .doing = "asking for machine types in " + region_},
                                "flavors", cancel_);
  }

  void ask_zones() {
    const JsonAnswer answer = api_.call({.region = region_,
                                         .action = "NovaListAvailabilityZones",
                                         .path = "/v2.1/{project}/os-availability-zone",
                                         .doing = "asking for zones in " + region_},
                                        cancel_);
    for (const Answer& zone : answer["availabilityZoneInfo"].items())
      if (const std::string name = zone["zoneName"].text(); !name.empty())
        survey_.zones.insert(name);
  }

  void ask_limits() { survey_.limits = limits_of(api_, region_, cancel_); }

  void ask_spot() {
    const auto policies = api_.list({.region = region_,
                                     .action = "ListFlavorSellPolicies",
                                     .path = "/v1/{project}/cloudservers/flavor-sell-policies",
                                     .query = {{"sell_mode", "spot"}},
                                     .doing = "asking for spot machines in " + region_},
                                    "sell_policies", cancel_);
    for (const JsonAnswer& each : policies) {
      const Answer policy = each.root();
      survey_.spot[{policy["flavor_id"].text(), policy["availability_zone_id"].text()}] =
          policy["sell_status"].text() == "available" ? Stock::enough : Stock::none;
    }
  }

  /// Returns the answer; null if the account lacks the permission, or the region lacks the service.
  JsonAnswer told(const HuaweiCall& call) {
    auto reply = api_.try_call(call, cancel_);
    const auto* failure = std::get_if<cloud::Failure>(&reply);
    if (failure == nullptr) return std::move(std::get<JsonAnswer>(reply));
    constexpr std::array kUntold = {FailureKind::permission, FailureKind::not_found,
                                    FailureKind::stock, FailureKind::invalid};
    if (!contains(kUntold, failure->kind)) throw cloud::error_of(*failure, "huawei: " + call.doing);
    return JsonAnswer();
  }

  void ask_room(const std::string& type) {
    const JsonAnswer answer = told(
        {.region = region_,
         .action = "ShowFlavorCapacity",
         .path = "/v1/{project}/cloudservers/flavors/" + http::percent_encode(type) + "/resources",
         .query = {{"count", std::to_string(wish_.nodes)}},
         .doing = "asking for room for " + type + " in " + region_});
    std::set<std::string> zones;
    for (const Answer& room : answer["resources"].items())
      zones.insert(room["availability_zone"].text());
    const std::lock_guard lock(mutex_);
    survey_.roomy[type] = std::move(zones);
  }

  json product(const std::string& id, const char* service, const char* resource,
               const std::string& spec) const {
    return {{"id", id},
            {"cloud_service_type", service},
            {"resource_type", resource},
            {"resource_spec", spec},
            {"region", region_},
            {"usage_factor", "Duration"},
            {"usage_value", 1},
            {"usage_measure_id", kHours},
            {"subscription_num", 1}};
  }

  json disk_product() const {
    json disk = product(kDataDisk, kDiskService, kDiskResource, disk_type(wish_.data_disk));
    disk["resource_size"] = wish_.data_disk.gib;
    disk["size_measure_id"] = kGigabytes;
    return disk;
  }

  /// Asks for prices and stores them. Returns false if the price list refuses the question.
  bool told_prices(json products) {
    const JsonAnswer answer = told({.service = "bss",
                                    .region = region_,
                                    .action = "ListOnDemandResourceRatings",
                                    .method = "POST",
                                    .path = "/v2/bills/ratings/on-demand-resources",
                                    .body = {{"project_id", api_.project(region_, cancel_).id},
                                             {"product_infos", std::move(products)}},
                                    .doing = "asking for prices in " + region_});
    const std::lock_guard lock(mutex_);
    for (const Answer& rating : answer["product_rating_results"].items())
      if (const auto price = cloud::price_told(rating["amount"], answer["currency"], kCny))
        survey_.prices.insert_or_assign(rating["id"].text(), *price);
    return answer.root().is_object();
  }

  /// Asks for the prices of types. If the price list refuses a list, because one of its types is
  /// not sold there, asks for each type alone.
  void ask_prices(const std::vector<std::string>& types) {
    json products = json::array();
    for (const std::string& type : types)
      products.push_back(product(type, kMachineService, kMachineResource, type + ".linux"));
    if (told_prices(std::move(products)) || types.size() < 2) return;
    cloud::Tasks questions;
    for (const std::string& type : types)
      questions.emplace_back([this, type] { ask_prices({type}); });
    cloud::at_once(questions);
  }

  Api& api_;
  std::string region_;
  const MachineRequest& wish_;
  const Cancel& cancel_;
  std::mutex mutex_;  ///< Guards the facts that several threads fill in.
  Survey survey_;
};

struct LimitNames {
  const char* name;
  const char* most;
  const char* used;
  const char* unit;
};

constexpr LimitNames kOnDemand[] = {
    {"Servers", "maxTotalInstances", "totalInstancesUsed", "instances"},
    {"vCPUs of servers", "maxTotalCores", "totalCoresUsed", "vCPU"},
    {"Memory of servers", "maxTotalRAMSize", "totalRAMUsed", "MiB"}};
constexpr LimitNames kSpot[] = {
    {"Spot servers", "maxTotalSpotInstances", "totalSpotInstancesUsed", "instances"},
    {"vCPUs of spot servers", "maxTotalSpotCores", "totalSpotCoresUsed", "vCPU"},
    {"Memory of spot servers", "maxTotalSpotRAMSize", "totalSpotRAMUsed", "MiB"}};

std::span<const LimitNames> limit_names(Market market) {
  return market == Market::spot ? std::span(kSpot) : std::span(kOnDemand);
}

/// Returns the number of further machines of the type that the account may have; absent without a
/// limit.
std::optional<int> quota_for(const Answer& limits, const InstanceType& type, Market market) {
  std::optional<double> most;
  for (const LimitNames& limit : limit_names(market)) {
    const auto may = limits[limit.most].number();
    if (!may || *may < 0) continue;  // -1 means unlimited.
    const double left = *may - limits[limit.used].number().value_or(0);
    const std::string unit = limit.unit;
    const double each = unit == "vCPU" ? type.cores : unit == "MiB" ? type.memory_gib * 1024 : 1;
    if (each > 0) most = std::min(most.value_or(left / each), left / each);
  }
  if (!most) return std::nullopt;
  return static_cast<int>(std::clamp(*most, 0.0, 1e6));
}

/// Returns the price of a machine with its data disk, as far as these prices are known.
std::optional<Money> price_of(const Survey& survey, const std::string& type) {
  const auto machine = survey.prices.find(type);
  if (machine == survey.prices.end()) return std::nullopt;
  const auto disk = survey.prices.find(kDataDisk);
  return disk == survey.prices.end() ? machine->second : machine->second + disk->second;
}

/// Returns the stock; absent if the type is not on sale in the zone.
std::optional<Stock> stock_in(const Survey& survey, const Answer& flavor, const std::string& zone,
                              Market market) {
  const std::string type = flavor["id"].text();
  if (market == Market::spot) {
    const auto policy = survey.spot.find({type, zone});
    return policy == survey.spot.end() ? std::nullopt : std::optional(policy->second);
  }
  const auto stock = stock_of(flavor, zone, market);
  const auto room = survey.roomy.find(type);
  if (stock != Stock::unknown || room == survey.roomy.end() || room->second.empty()) return stock;
  return room->second.contains(zone) ? Stock::enough : Stock::low;
}

}  // namespace

std::vector<Offer> HuaweiCloud::offers(const std::string& region, const MachineRequest& request,
                                       const Cancel& cancel) {
  const Survey survey = Surveyor(api_, region, request, cancel).look();
  std::vector<Offer> offers;
  for (const JsonAnswer& each : survey.flavors) {
    const Answer flavor = each.root();
    const InstanceType type = type_of(flavor);
    std::set<std::string> zones = survey.zones;
    const auto named = named_zones(flavor);
    zones.insert(named.begin(), named.end());
    for (const std::string& zone : zones) {
      if (!request.zone.empty() && zone != request.zone) continue;
      const auto stock = stock_in(survey, flavor, zone, request.market);
      if (!stock) continue;
      Offer offer{.cloud = "huawei",
                  .site = {region, zone},
                  .type = type,
                  .market = request.market,
                  .stock = *stock,
                  .quota = quota_for(survey.limits, type, request.market)};
      offer.price_per_hour = price_of(survey, type.name);
      offers.push_back(std::move(offer));
    }
  }
  return offers;
}

std::vector<Quota> HuaweiCloud::quotas(const std::string& region, const Cancel& cancel) {
  const JsonAnswer limits = limits_of(api_, region, cancel);
  std::vector<Quota> quotas;
  for (const Market market : {Market::on_demand, Market::spot})
    for (const LimitNames& limit : limit_names(market))
      if (const auto most = limits[limit.most].number(); most && *most >= 0)
        quotas.push_back({.name = limit.name,
                          .limit = *most,
                          .used = limits[limit.used].number(),
                          .unit = limit.unit});
  return quotas;
}

}  // namespace fastgpu::provision::huawei
