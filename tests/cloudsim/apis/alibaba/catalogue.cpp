
#include "cloudsim/apis/alibaba/call.hpp"

#include "base/contains.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

constexpr int kTypesACall = 10;
constexpr int kLargestPageOfTypes = 1600;

bool is_among(const std::vector<std::string>& wanted, const std::string& value) {
  return wanted.empty() || contains(wanted, value);
}

Json shape_type(const MachineType& type) {
  const int kbits = int(type.gbps * 1e6);
  return {{"InstanceTypeId", type.name},
          {"InstanceTypeFamily", type.name.substr(0, type.name.rfind('.'))},
          {"CpuArchitecture", type.architecture == "arm64" ? "ARM" : "X86"},
          {"CpuCoreCount", type.vcpus},
          {"MemorySize", type.memory_mb / 1024.0},
          {"GPUAmount", type.gpus},
          {"GPUSpec", type.gpus > 0 ? type.gpu_maker + " " + type.gpu : ""},
          {"GPUMemorySize", type.gpu_memory_mb / 1024.0},
          {"InstanceBandwidthRx", kbits},
          {"InstanceBandwidthTx", kbits},
          {"EriQuantity", type.rdma_interfaces},
          {"NetworkCardQuantity", type.network_cards}};
}

Json describe_types(const AlibabaCall& call) {
  const auto wanted = call.params.list("InstanceTypes");
  if (wanted.size() > kTypesACall)
    throw ProtocolViolation(400, "InvalidInstanceTypes.MaxLimit",
                            "InstanceTypes.N are 10 at most.");
  std::vector<Json> items;
  for (const auto& [name, type] : call.catalogue().types)
    if (is_among(wanted, name) && type.gpus >= call.params.number("MinimumGPUAmount", 0))
      items.push_back(shape_type(type));
  if (!call.params.find("MaxResults"))
    return {{"InstanceTypes", {{"InstanceType", items}}}, {"NextToken", ""}};
  Json out = paged(call, "InstanceTypes", "InstanceType", items, kLargestPageOfTypes);
  for (const char* name : {"TotalCount", "PageSize", "PageNumber"})
    out.erase(name);
  return out;
}

Json stock_of_zone(const AlibabaCall& call, const std::string& zone, Market market) {
  const std::string wanted = call.params.get("InstanceType");
  Json resources = Json::array();
  for (const auto& [place, offer] : call.catalogue().offers) {
    if (place.first != zone || (!wanted.empty() && place.second != wanted)) continue;
    Offer copy = offer;
    const bool has_stock = stock_of(copy, market) != 0;
    resources.push_back({{"Value", place.second},
                         {"Status", has_stock ? "Available" : "SoldOut"},
                         {"StatusCategory", has_stock ? "WithStock" : "WithoutStock"}});
  }
  return resources;
}

Json describe_available(const AlibabaCall& call) {
  if (call.params.get("DestinationResource") != "InstanceType")
    throw ProtocolViolation(400, "InvalidDestinationResource",
                            "InstanceType alone is told of here.");
  const Market market =
      call.params.get("SpotStrategy", "NoSpot") == "NoSpot" ? Market::on_demand : Market::spot;
  Json zones = Json::array();
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region)) {
    if (call.params.get("ZoneId", zone) != zone) continue;
    const Json resources = stock_of_zone(call, zone, market);
    if (resources.empty()) continue;
    const Json kind = {{"Type", "InstanceType"},
                       {"SupportedResources", {{"SupportedResource", resources}}}};
    zones.push_back({{"ZoneId", zone},
                     {"RegionId", call.scope.region},
                     {"Status", "Available"},
                     {"StatusCategory", "WithStock"},
                     {"AvailableResources", {{"AvailableResource", Json::array({kind})}}}});
  }
  return {{"AvailableZones", {{"AvailableZone", zones}}}};
}

Json describe_attributes(const AlibabaCall& call) {
  const auto limit_of = [&](const std::string& group) {
    return call.catalogue().quota(call.scope.region, group).value_or(1e6);
  };
  const auto used_of = [&](const std::string& group) {
    return call.world.quota_used(call.scope, group);
  };
  const std::pair<const char*, double> values[] = {
      {"max-postpaid-instance-vcpu-count", limit_of("vcpu")},
      {"used-postpaid-instance-vcpu-count", used_of("vcpu")},
      {"max-spot-instance-vcpu-count", limit_of("vcpu/spot")},
      {"used-spot-instance-vcpu-count", used_of("vcpu/spot")},
      {"max-security-groups", 100}};
  const auto wanted = call.params.list("AttributeName");
  Json items = Json::array();
  for (const auto& [name, value] : values) {
    if (!is_among(wanted, name)) continue;
    const Json one = {{"Value", std::to_string(std::int64_t(value))}};
    items.push_back(
        {{"AttributeName", name}, {"AttributeValues", {{"ValueItem", Json::array({one})}}}});
  }
  return {{"AccountAttributeItems", {{"AccountAttributeItem", items}}}};
}

Json describe_regions(const AlibabaCall& call) {
  Json items = Json::array();
  for (const auto& [region, zones] : call.catalogue().regions)
    items.push_back({{"RegionId", region},
                     {"RegionEndpoint", "ecs." + region + ".aliyuncs.com"},
                     {"LocalName", region}});
  return {{"Regions", {{"Region", items}}}};
}

Json describe_zones(const AlibabaCall& call) {
  Json items = Json::array();
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
    items.push_back({{"ZoneId", zone}, {"LocalName", zone}, {"ZoneType", "AvailabilityZone"}});
  return {{"Zones", {{"Zone", items}}}};
}

constexpr AlibabaAction kCatalogueActions[] = {
    {"ecs", "DescribeInstanceTypes",
     "RegionId InstanceTypes MinimumGPUAmount GPUSpec MaxResults NextToken", describe_types},
    {"ecs", "DescribeAvailableResource",
     "RegionId! DestinationResource! InstanceType ZoneId InstanceChargeType SpotStrategy "
     "SpotDuration IoOptimized ResourceType SystemDiskCategory",
     describe_available},
    {"ecs", "DescribeAccountAttributes", "RegionId! AttributeName ZoneId", describe_attributes},
    {"ecs", "DescribeRegions", "RegionId AcceptLanguage InstanceChargeType", describe_regions},
    {"ecs", "DescribeZones", "RegionId! AcceptLanguage InstanceChargeType SpotStrategy",
     describe_zones},
};

}  // namespace

std::span<const AlibabaAction> catalogue_actions() {
  return kCatalogueActions;
}

}  // namespace fastgpu::cloudsim::alibaba
