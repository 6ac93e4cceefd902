// The offers of ECS in a region: types, stock by zone, prices and quota, all requested at once.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "base/time_text.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/where_told.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"
#include "provision/providers/alibaba/machines.hpp"
#include "provision/signing/hmac.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using namespace std::chrono_literals;
using cloud::InstanceType;
using cloud::MachineRequest;
using cloud::Market;
using cloud::Offer;
using cloud::Stock;

/// The attributes of a quota, which counts the virtual cores of all types.
struct QuotaNames {
  Market market;
  const char* limit;
  const char* used;
};

constexpr QuotaNames kQuotas[] = {
    {Market::on_demand, "max-postpaid-instance-vcpu-count", "used-postpaid-instance-vcpu-count"},
    {Market::spot, "max-spot-instance-vcpu-count", "used-spot-instance-vcpu-count"},
};

AlibabaCall quota_call(const std::string& region, std::span<const QuotaNames> quotas) {
  AlibabaCall call{
      .region = region, .action = "DescribeAccountAttributes", .doing = "asking for quotas"};
  std::vector<std::string> names;
  for (const QuotaNames& quota : quotas)
    names.insert(names.end(), {quota.limit, quota.used});
  cloud::add_list(call.parameters, "AttributeName", names);
  return call;
}

/// Returns the numbers among an account's attributes, by name.
std::map<std::string, double> attributes_in(const Answer& answer) {
  std::map<std::string, double> numbers;
  for (const Answer& item : answer["AccountAttributeItems"]["AccountAttributeItem"].items())
    for (const Answer& value : item["AttributeValues"]["ValueItem"].items())
      if (const auto number = value["Value"].number())
        numbers.try_emplace(item["AttributeName"].text(), *number);
  return numbers;
}

InstanceType type_of(const Answer& item) {
  constexpr double kKbitAGbit = 1e6;
  InstanceType type{.name = item["InstanceTypeId"].text(),
                    .gpus = item["GPUAmount"].whole(),
                    .gpu_memory_gib = item["GPUMemorySize"].whole(),
                    .cores = item["CpuCoreCount"].whole(),
                    .memory_gib = item["MemorySize"].number().value_or(0),
                    .network_gbit = item["InstanceBandwidthRx"].number().value_or(0) / kKbitAGbit,
                    .rdma_interfaces = item["EriQuantity"].whole()};
  if (type.gpus > 0) type.gpu = cloud::plain_gpu_name(item["GPUSpec"].text());
  if (item["CpuArchitecture"].text() == "ARM") type.architecture = "arm64";
  return type;
}

Stock stock_of(const Answer& resource) {
  const std::string category = resource["StatusCategory"].text();
  if (resource["Status"].text() == "SoldOut" || category.ends_with("WithoutStock"))
    return Stock::none;
  if (category == "ClosedWithStock") return Stock::low;
  return resource["Status"].text() == "Available" ? Stock::enough : Stock::unknown;
}

/// The facts about a region's types, each from a call of its own.
struct Survey {
  std::map<std::string, InstanceType> types;
  std::map<std::pair<std::string, std::string>, Stock> stock;  ///< The stock by type and zone.
  /// The price by type and zone, or "" for all zones.
  std::map<std::pair<std::string, std::string>, Money> price;
  std::map<std::string, double> attributes;
};

class Surveyor {
 public:
  Surveyor(AlibabaApi& api, std::string region, const MachineRequest& request, const Cancel& cancel)
      : api_(api), region_(std::move(region)), wish_(request), cancel_(cancel) {}

  Survey look() {
    cloud::at_once({[&] { ask_stock(); }, [&] { ask_types(); },
                    [&] { cloud::where_told([&] { ask_quota(); }); }});
    cloud::at_once(about_prices());
    return std::move(survey_);
  }

 private:
  /// Returns the questions about prices of available types, one for each type.
  cloud::Tasks about_prices() {
    std::set<std::string> there;
    for (const auto& [place, stock] : survey_.stock)
      if (survey_.types.contains(place.first)) there.insert(place.first);
    cloud::Tasks questions;
    for (const std::string& type : there)
      questions.emplace_back(
          [this, type] { wish_.market == Market::spot ? ask_spot_price(type) : ask_price(type); });
    return questions;
  }

  AlibabaCall question(const char* action, Parameters parameters, const std::string& what) const {
    return {.region = region_,
            .action = action,
            .parameters = std::move(parameters),
            .doing = "asking for " + what + " in " + region_};
  }

  /// Asks for one type by its name, or else for all types with that number of GPUs.
  void ask_types() {
    Parameters parameters;
    if (wish_.type.empty())
      parameters = {{"MinimumGPUAmount", std::to_string(std::max(1, wish_.gpus))},
                    {"MaxResults", "100"}};
    else
      parameters = {{"InstanceTypes.1", wish_.type}};
    api_.pages(
        question("DescribeInstanceTypes", parameters, "instance types"),
        [&](const Answer& page) {
          const std::lock_guard lock(mutex_);
          for (const Answer& item : page["InstanceTypes"]["InstanceType"].items())
            if (InstanceType type = type_of(item); !type.name.empty()) {
              cloud::complete(type, "alibaba");
              if (cloud::suits(type, wish_)) survey_.types[type.name] = type;
            }
        },
        cancel_);
  }

  /// Asks for the stock. One answer has all types in all zones.
  void ask_stock() {
    Parameters parameters = {{"DestinationResource", "InstanceType"},
                             {"InstanceChargeType", "PostPaid"},
                             {"IoOptimized", "optimized"}};
    if (wish_.market == Market::spot) parameters.emplace_back("SpotStrategy", "SpotAsPriceGo");
    if (!wish_.type.empty()) parameters.emplace_back("InstanceType", wish_.type);
    if (!wish_.zone.empty()) parameters.emplace_back("ZoneId", wish_.zone);
    const auto answer =
        api_.call(question("DescribeAvailableResource", parameters, "stock"), cancel_);
    const std::lock_guard lock(mutex_);
    for (const Answer& zone : Answer(answer)["AvailableZones"]["AvailableZone"].items())
      for (const Answer& kind : zone["AvailableResources"]["AvailableResource"].items())
        for (const Answer& resource : kind["SupportedResources"]["SupportedResource"].items())
          survey_.stock[{resource["Value"].text(), zone["ZoneId"].text()}] = stock_of(resource);
  }

  /// Returns the answer to a question about one type; absent if the region does not have the type.
  std::optional<cloud::JsonAnswer> answer_about(const AlibabaCall& call) {
    try {
      return api_.call(call, cancel_);
    } catch (const Error& e) {
      const bool is_no = e.kind() == ErrorKind::remote || e.kind() == ErrorKind::capacity ||
                         e.kind() == ErrorKind::not_found;
      if (is_no) return std::nullopt;
      throw;
    }
  }

  /// Asks for the price of a machine with its disks.
  void ask_price(const std::string& type) {
    Parameters parameters = {{"ResourceType", "instance"},
                             {"InstanceType", type},
                             {"PriceUnit", "Hour"},
                             {"Period", "1"},
                             {"Amount", "1"},
                             {"SystemDisk.Category", kDiskType},
                             {"SystemDisk.Size", "40"}};
    if (wish_.data_disk.gib > 0) add_data_disk(parameters, wish_.data_disk);
    const auto answer =
        answer_about(question("DescribePrice", std::move(parameters), "the price of " + type));
    if (!answer) return;
    const Answer price = Answer(*answer)["PriceInfo"]["Price"];
    set_price(type, "", cloud::price_told(price["TradePrice"], price["Currency"], kCny));
  }

  /// Asks for the newest spot price of each zone.
  void ask_spot_price(const std::string& type) {
    const auto start = std::chrono::system_clock::now() - 24h;
    const auto answer = answer_about(question("DescribeSpotPriceHistory",
                                              {{"InstanceType", type},
                                               {"NetworkType", "vpc"},
                                               {"OSType", "linux"},
                                               {"StartTime", utc_text(start)}},
                                              "spot prices of " + type));
    if (!answer) return;
    std::map<std::string, std::string> newest;
    for (const Answer& price : Answer(*answer)["SpotPrices"]["SpotPriceType"].items()) {
      const std::string zone = price["ZoneId"].text();
      const auto told = cloud::price_told(price["SpotPrice"], Answer(*answer)["Currency"], kCny);
      if (!told || price["Timestamp"].text() < newest[zone]) continue;
      newest[zone] = price["Timestamp"].text();
      set_price(type, zone, told);
    }
  }

  void set_price(const std::string& type, const std::string& zone,
                 const std::optional<Money>& price) {
    const std::lock_guard lock(mutex_);
    if (price) survey_.price.insert_or_assign({type, zone}, *price);
  }

  void ask_quota() {
    const auto answer = api_.call(quota_call(region_, kQuotas), cancel_);
    const std::lock_guard lock(mutex_);
    survey_.attributes = attributes_in(Answer(answer));
  }

  AlibabaApi& api_;
  std::string region_;
  const MachineRequest& wish_;
  const Cancel& cancel_;
  std::mutex mutex_;  ///< Guards the facts that several threads fill in.
  Survey survey_;
};

std::optional<Money> price_of(const Survey& survey, const std::string& type,
                              const std::string& zone) {
  for (const std::string& where : {zone, std::string()})
    if (const auto found = survey.price.find({type, where}); found != survey.price.end())
      return found->second;
  return std::nullopt;
}

/// Returns the number of further machines of the type that the account may have; absent: unknown.
std::optional<int> room_for(const Survey& survey, Market market, const InstanceType& type) {
  const auto names = std::ranges::find(kQuotas, market, &QuotaNames::market);
  const auto limit = survey.attributes.find(names->limit);
  const auto used = survey.attributes.find(names->used);
  if (limit == survey.attributes.end() || type.cores <= 0) return std::nullopt;
  const double taken = used == survey.attributes.end() ? 0 : used->second;
  constexpr double kMost = 1'000'000;
  return static_cast<int>(std::clamp((limit->second - taken) / type.cores, 0.0, kMost));
}

}  // namespace

std::vector<Offer> AlibabaCloud::offers(const std::string& region, const MachineRequest& request,
                                        const Cancel& cancel) {
  const Survey survey = Surveyor(api_, region, request, cancel).look();
  std::vector<Offer> offers;
  for (const auto& [place, stock] : survey.stock) {
    const auto& [name, zone] = place;
    const auto type = survey.types.find(name);
    if (type == survey.types.end() || (!request.zone.empty() && zone != request.zone)) continue;
    offers.push_back({.cloud = "alibaba",
                      .site = {region, zone},
                      .type = type->second,
                      .market = request.market,
                      .price_per_hour = price_of(survey, name, zone),
                      .stock = stock,
                      .quota = room_for(survey, request.market, type->second)});
  }
  return offers;
}

std::vector<cloud::Quota> AlibabaCloud::quotas(const std::string& region, const Cancel& cancel) {
  const auto answer = api_.call(quota_call(region, kQuotas), cancel);
  const auto attributes = attributes_in(Answer(answer));
  std::vector<cloud::Quota> quotas;
  for (const QuotaNames& names : kQuotas) {
    const auto limit = attributes.find(names.limit);
    if (limit == attributes.end()) continue;
    const auto used = attributes.find(names.used);
    quotas.push_back({.name = names.limit,
                      .limit = limit->second,
                      .used = used == attributes.end() ? std::nullopt : std::optional(used->second),
                      .unit = "vCPU"});
  }
  return quotas;
}

}  // namespace fastgpu::provision::alibaba
