#include <algorithm>

#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

std::string family_of(const std::string& type) {
  return type.substr(0, type.find('.'));
}

Json describe_regions(const TencentCall& call) {
  Json out = {{"TotalCount", call.catalogue().regions.size()}, {"RegionSet", Json::array()}};
  for (const auto& [region, zones] : call.catalogue().regions)
    out["RegionSet"].push_back(
        {{"Region", region}, {"RegionName", region}, {"RegionState", "AVAILABLE"}});
  return out;
}

Json describe_zones(const TencentCall& call) {
  const auto& zones = call.catalogue().regions.at(call.scope.region);
  Json out = {{"TotalCount", zones.size()}, {"ZoneSet", Json::array()}};
  for (const std::string& zone : zones)
    out["ZoneSet"].push_back(
        {{"Zone", zone}, {"ZoneName", zone}, {"ZoneId", zone}, {"ZoneState", "AVAILABLE"}});
  return out;
}

/// Calls `add` for each type in each zone of the region that passes the filters.
template <class Add>
void for_each_offer(const TencentCall& call, const std::string& charge, Add add) {
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
    for (const auto& [name, type] : call.catalogue().types) {
      const Offer* offer = call.catalogue().offer(zone, name);
      if (offer == nullptr) continue;
      const Facts facts = {{"zone", {zone}},
                           {"instance-type", {name}},
                           {"instance-family", {family_of(name)}},
                           {"instance-charge-type", {charge}},
                           {"sort-keys", {}}};
      if (passes(call, facts, {})) add(zone, type, *offer);
    }
}

std::string stock_category(std::int64_t stock) {
  constexpr std::int64_t kFew = 4;
  if (stock == 0) return "WithoutStock";
  if (stock < 0) return "EnoughStock";
  return stock <= kFew ? "UnderStock" : "NormalStock";
}

Json shape_offer(const std::string& zone, const MachineType& type, const Offer& offer, bool spot) {
  const std::int64_t stock = spot ? offer.spot_stock : offer.stock;
  const double price = spot ? offer.spot_price : offer.price;
  return {{"Zone", zone},
          {"InstanceType", type.name},
          {"InstanceChargeType", spot ? "SPOTPAID" : "POSTPAID_BY_HOUR"},
          {"NetworkCard", type.rdma_interfaces},
          {"Cpu", type.vcpus},
          {"Memory", type.memory_mb / 1024},
          {"InstanceFamily", family_of(type.name)},
          {"TypeName", type.gpus > 0 ? "GPU" : "Standard"},
          {"Status", stock == 0 ? "SOLD_OUT" : "SELL"},
          {"StatusCategory", stock_category(stock)},
          {"SoldOutReason", stock == 0 ? "sold out" : ""},
          {"Price",
           {{"UnitPrice", offer.price},
            {"UnitPriceDiscount", price},
            {"Discount", offer.price > 0 ? 100 * price / offer.price : 100},
            {"ChargeUnit", "HOUR"}}},
          {"InstanceBandwidth", type.gbps},
          {"Gpu", type.gpus},
          {"GpuCount", type.gpus},
          {"Remark", type.gpu}};
}

Json describe_offers(const TencentCall& call) {
  Json out = {{"InstanceTypeQuotaSet", Json::array()}};
  for (const bool spot : {false, true}) {
    const std::string charge = spot ? "SPOTPAID" : "POSTPAID_BY_HOUR";
    for_each_offer(call, charge, [&](const auto& zone, const auto& type, const Offer& offer) {
      if (!spot || offer.spot_price > 0)
        out["InstanceTypeQuotaSet"].push_back(shape_offer(zone, type, offer, spot));
    });
  }
  return out;
}

Json describe_types(const TencentCall& call) {
  Json out = {{"InstanceTypeConfigSet", Json::array()}};
  for_each_offer(call, "", [&](const auto& zone, const auto& type, const Offer&) {
    Json item = {
        {"Zone", zone},     {"InstanceType", type.name}, {"InstanceFamily", family_of(type.name)},
        {"GPU", type.gpus}, {"CPU", type.vcpus},         {"Memory", type.memory_mb / 1024},
        {"FPGA", 0},        {"GpuCount", type.gpus}};
    if (type.gpus > 0)
      item.update(
          {{"GpuType", type.gpu_maker + " " + type.gpu}, {"GpuMemory", type.gpu_memory_mb / 1024}});
    out["InstanceTypeConfigSet"].push_back(item);
  });
  return out;
}

/// Returns how many more instances each zone accepts.
Json quota_set(const TencentCall& call, const std::string& group) {
  constexpr double kEndless = 1e6;
  const double limit = call.catalogue().quota(call.scope.region, group).value_or(kEndless);
  const double used = call.world.quota_used(call.scope, group);
  Json out = Json::array();
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
    if (passes(call, {{"zone", {zone}}, {"quota-type", {"PostPaidQuotaSet", "SpotPaidQuotaSet"}}},
               {}))
      out.push_back({{"Zone", zone},
                     {"TotalQuota", int(limit)},
                     {"UsedQuota", int(used)},
                     {"RemainingQuota", std::max(0, int(limit - used))}});
  return out;
}

Json describe_quota(const TencentCall& call) {
  return {{"AppId", 1250000000},
          {"AccountQuotaOverview",
           {{"Region", call.scope.region},
            {"AccountQuota",
             {{"PostPaidQuotaSet", quota_set(call, "instances")},
              {"SpotPaidQuotaSet", quota_set(call, "instances/spot")}}}}}};
}

constexpr TencentAction kCatalogueActions[] = {
    {"cvm", "DescribeRegions", "", describe_regions},
    {"cvm", "DescribeZones", "", describe_zones},
    {"cvm", "DescribeZoneInstanceConfigInfos",
     "Filters:zone,instance-type,instance-family,instance-charge-type,sort-keys", describe_offers},
    {"cvm", "DescribeInstanceTypeConfigs",
     "Filters:zone,instance-type,instance-family,instance-charge-type", describe_types},
    {"cvm", "DescribeAccountQuota", "Filters:zone,quota-type", describe_quota},
};

}  // namespace

std::span<const TencentAction> catalogue_actions() {
  return kCatalogueActions;
}

}  // namespace fastgpu::cloudsim::tencent
