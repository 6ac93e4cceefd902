// The offers of CVM in a region. Stock and prices are in one answer, the quota in another; both are
// requested at once.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "provision/cloud/at_once.hpp"
#include "provision/cloud/catalogue.hpp"
#include "provision/cloud/where_told.hpp"
#include "provision/providers/tencent/machines.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::InstanceType;
using cloud::MachineRequest;
using cloud::Market;
using cloud::Offer;
using cloud::Stock;

constexpr std::size_t kValuesAFilter = 5;

/// The name of a quota, which counts the instances of a zone.
struct QuotaName {
  Market market;
  const char* name;
};

constexpr QuotaName kQuotas[] = {{Market::on_demand, "PostPaidQuotaSet"},
                                 {Market::spot, "SpotPaidQuotaSet"}};

const char* quota_name(Market market) {
  return std::ranges::find(kQuotas, market, &QuotaName::market)->name;
}

std::string family_of(std::string_view type) {
  return std::string(type.substr(0, type.find('.')));
}

/// The GPU of a type, from the list of types.
struct Gpu {
  std::string name{};
  int memory_gib = 0;
};
using Gpus = std::map<std::string, Gpu>;

/// Returns the filters for offers that may suit the request, in pieces that one question can hold.
/// One empty list means no filter. Empty for a GPU that this cloud does not have.
std::vector<json> type_filters(const MachineRequest& request, const Gpus& gpus) {
  if (!request.type.empty()) return {json::array({filter("instance-type", {request.type})})};
  if (request.gpu.empty()) return {json::array()};
  std::set<std::string> families;
  for (const auto& [type, gpu] : gpus)
    if (cloud::same_gpu(gpu.name, request.gpu)) families.insert(family_of(type));
  for (const InstanceType& type : cloud::known_types("tencent", {.gpu = request.gpu}))
    families.insert(family_of(type.name));
  std::vector<json> filters;
  std::vector<std::string> some;
  for (const std::string& family : families) {
    some.push_back(family);
    if (some.size() < kValuesAFilter && family != *families.rbegin()) continue;
    filters.push_back(json::array({filter("instance-family", some)}));
    some.clear();
  }
  return filters;
}

/// Fills in the GPU of a type: the answer with the offers counts GPUs and does not name them. The
/// name is in the list of types, or else in the catalogue's other types of the same family.
void name_gpu(InstanceType& type, const Gpus& gpus) {
  if (type.gpus == 0) return;
  if (const auto told = gpus.find(type.name); told != gpus.end()) {
    type.gpu = told->second.name;
    type.gpu_memory_gib = told->second.memory_gib;
  }
  if (!type.gpu.empty()) return;
  for (const InstanceType& known : cloud::known_types("tencent", {}))
    if (family_of(known.name) == family_of(type.name)) {
      type.gpu = known.gpu;
      type.gpu_memory_gib = known.gpu_memory_gib;
    }
}

InstanceType type_of(const Answer& item, const Gpus& gpus) {
  InstanceType type{.name = item["InstanceType"].text(),
                    .gpus = item["GpuCount"].whole(),
                    .cores = item["Cpu"].whole(),
                    .memory_gib = item["Memory"].number().value_or(0),
                    .network_gbit = item["InstanceBandwidth"].number().value_or(0),
                    .rdma_interfaces = is_hpc(item["InstanceType"].text()) ? 1 : 0};
  name_gpu(type, gpus);
  return type;
}

Stock stock_of(const Answer& item) {
  const std::string category = item["StatusCategory"].text();
  const std::string status = item["Status"].text();
  if (status == "SOLD_OUT" || category == "WithoutStock") return Stock::none;
  if (category == "UnderStock") return Stock::low;
  return status == "SELL" ? Stock::enough : Stock::unknown;
}

std::optional<Money> price_of(const Answer& item, Currency currency) {
  for (const char* name : {"UnitPriceDiscount", "UnitPrice"})
    if (const auto amount = item["Price"][name].number(); amount && *amount > 0)
      return Money{*amount, currency};
  return std::nullopt;
}

Offer offer_of(const Answer& item, const std::string& region, Market market, Currency currency,
               const Gpus& gpus) {
  return {.cloud = "tencent",
          .site = {region, item["Zone"].text()},
          .type = type_of(item, gpus),
          .market = market,
          .price_per_hour = price_of(item, currency),
          .stock = stock_of(item),
          .quota = std::nullopt};
}

TencentCall quota_call(const std::string& region) {
  return {.region = region, .action = "DescribeAccountQuota", .doing = "asking for quotas"};
}

std::vector<Answer> quota_set(const Answer& answer, const char* name) {
  return answer["AccountQuotaOverview"]["AccountQuota"][name].items();
}

/// A survey of a region that asks all questions at once.
class Surveyor {
 public:
  Surveyor(TencentApi& api, std::string region, const MachineRequest& request, const Cancel& cancel)
      : api_(api), region_(std::move(region)), wish_(request), cancel_(cancel) {}

  std::vector<Offer> look() {
    cloud::where_told([&] { ask_gpus(); });
    cloud::Tasks questions;
    for (const json& filters : type_filters(wish_, gpus_))
      questions.emplace_back([this, filters] { ask_offers(filters); });
    if (questions.empty()) return {};
    questions.emplace_back([this] { cloud::where_told([&] { ask_quota(); }); });
    cloud::at_once(questions);
    for (Offer& offer : offers_)
      if (const auto room = room_.find(offer.site.zone); room != room_.end())
        offer.quota = room->second;
    return std::move(offers_);
  }

 private:
  void ask_gpus() {
    json filters = json::array();
    if (!wish_.type.empty()) filters.push_back(filter("instance-type", {wish_.type}));
    const JsonAnswer answer = api_.call({.region = region_,
                                         .action = "DescribeInstanceTypeConfigs",
                                         .body = {{"Filters", std::move(filters)}},
                                         .doing = "asking for GPUs in " + region_},
                                        cancel_);
    for (const Answer& item : answer["InstanceTypeConfigSet"].items())
      if (std::string name = cloud::plain_gpu_name(item["GpuType"].text()); !name.empty())
        gpus_[item["InstanceType"].text()] = {std::move(name), item["GpuMemory"].whole()};
  }

  void ask_offers(json filters) {
    const char* charge = wish_.market == Market::spot ? "SPOTPAID" : "POSTPAID_BY_HOUR";
    filters.push_back(filter("instance-charge-type", {charge}));
    if (!wish_.zone.empty()) filters.push_back(filter("zone", {wish_.zone}));
    const JsonAnswer answer = api_.call({.region = region_,
                                         .action = "DescribeZoneInstanceConfigInfos",
                                         .body = {{"Filters", std::move(filters)}},
                                         .doing = "asking for instance types in " + region_},
                                        cancel_);
    const std::lock_guard lock(mutex_);
    for (const Answer& item : Answer(answer)["InstanceTypeQuotaSet"].items()) {
      Offer offer = offer_of(item, region_, wish_.market, api_.currency(), gpus_);
      const bool is_elsewhere = !wish_.zone.empty() && offer.site.zone != wish_.zone;
      if (offer.type.name.empty() || offer.site.zone.empty() || is_elsewhere) continue;
      if (item["InstanceChargeType"].text() == charge && cloud::suits(offer.type, wish_))
        offers_.push_back(std::move(offer));
    }
  }

  void ask_quota() {
    const JsonAnswer answer = api_.call(quota_call(region_), cancel_);
    const std::lock_guard lock(mutex_);
    for (const Answer& zone : quota_set(Answer(answer), quota_name(wish_.market)))
      if (zone["RemainingQuota"].number())
        room_[zone["Zone"].text()] = std::max(0, zone["RemainingQuota"].whole());
  }

  TencentApi& api_;
  std::string region_;
  const MachineRequest& wish_;
  const Cancel& cancel_;
  std::mutex mutex_;  ///< Guards the facts that several threads fill in.
  std::vector<Offer> offers_;
  std::map<std::string, int> room_;  ///< The number of further machines by zone.
  Gpus gpus_;
};

}  // namespace

std::vector<Offer> TencentCloud::offers(const std::string& region, const MachineRequest& request,
                                        const Cancel& cancel) {
  return Surveyor(api_, region, request, cancel).look();
}

std::vector<cloud::Quota> TencentCloud::quotas(const std::string& region, const Cancel& cancel) {
  const JsonAnswer answer = api_.call(quota_call(region), cancel);
  std::vector<cloud::Quota> quotas;
  for (const QuotaName& quota : kQuotas)
    for (const Answer& zone : quota_set(Answer(answer), quota.name))
      quotas.push_back({.name = std::string(quota.name) + " " + zone["Zone"].text(),
                        .limit = zone["TotalQuota"].number().value_or(0),
                        .used = zone["UsedQuota"].number(),
                        .unit = "instances"});
  return quotas;
}

}  // namespace fastgpu::provision::tencent
