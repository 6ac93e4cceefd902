#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

/// Adds one page of `items` to the answer under `name`.
Json paged(const Params& params, const std::string& name, const Json& items) {
  const Page part = page(params, items.size(), 5, 1000);
  Json out = {{name, Json::array()}};
  for (std::size_t i = part.begin; i < part.end; ++i)
    out[name].push_back(items[i]);
  if (!part.next.empty()) out["nextToken"] = part.next;
  return out;
}

Json gpu_info(const MachineType& type) {
  return {{"gpus",
           {{{"name", type.gpu},
             {"manufacturer", type.gpu_maker},
             {"count", type.gpus},
             {"memoryInfo", {{"sizeInMiB", type.gpu_memory_mb}}}}}},
          {"totalGpuMemoryInMiB", type.gpus * type.gpu_memory_mb}};
}

Json shape_type(const MachineType& type) {
  Json network = {{"networkPerformance", std::to_string(int(type.gbps)) + " Gigabit"},
                  {"maximumNetworkCards", type.network_cards},
                  {"efaSupported", type.rdma_interfaces > 0}};
  if (type.rdma_interfaces > 0)
    network["efaInfo"] = {{"maximumEfaInterfaces", type.rdma_interfaces}};
  Json out = {
      {"instanceType", type.name},
      {"currentGeneration", true},
      {"supportedUsageClasses", {"on-demand", "spot"}},
      {"processorInfo", {{"supportedArchitectures", {type.architecture}}}},
      {"vCpuInfo", {{"defaultVCpus", type.vcpus}}},
      {"memoryInfo", {{"sizeInMiB", type.memory_mb}}},
      {"networkInfo", network},
      {"placementGroupInfo", {{"supportedStrategies", {"cluster", "partition", "spread"}}}}};
  if (type.gpus > 0) out["gpuInfo"] = gpu_info(type);
  return out;
}

bool sold_in_region(const Ec2Call& call, const std::string& type) {
  const auto& zones = call.catalogue().regions.at(call.scope.region);
  return std::ranges::any_of(zones, [&](const std::string& zone) {
    return call.catalogue().offer(zone, type) != nullptr;
  });
}

Json describe_types(const Ec2Call& call) {
  const std::vector<std::string> names = call.params.list("InstanceType");
  for (const std::string& name : names)
    if (!sold_in_region(call, name))
      throw Refusal(400, "InvalidInstanceType",
                    "The following supplied instance types do not exist: [" + name + "]");
  Json items = Json::array();
  for (const auto& [name, type] : call.catalogue().types) {
    const bool wanted = names.empty() || contains(names, name);
    const Facts facts = {
        {"instance-type", {name}},
        {"current-generation", {"true"}},
        {"processor-info.supported-architecture", {type.architecture}},
        {"network-info.efa-supported", {type.rdma_interfaces > 0 ? "true" : "false"}},
        {"supported-usage-class", {"on-demand", "spot"}}};
    if (wanted && sold_in_region(call, name) && passes(call.params, facts, {}))
      items.push_back(shape_type(type));
  }
  return paged(call.params, "instanceTypeSet", items);
}

Json describe_offerings(const Ec2Call& call) {
  const std::string by = call.params.get("LocationType", "region");
  if (by != "region" && by != "availability-zone")
    throw ProtocolViolation(400, "InvalidParameterValue",
                            "Location type " + by + " is not known here");
  Json items = Json::array();
  const auto add = [&](const std::string& type, const std::string& place) {
    const Facts facts = {{"instance-type", {type}}, {"location", {place}}};
    if (passes(call.params, facts, {}))
      items.push_back({{"instanceType", type}, {"locationType", by}, {"location", place}});
  };
  for (const auto& [name, type] : call.catalogue().types) {
    if (by == "region" && sold_in_region(call, name)) add(name, call.scope.region);
    if (by == "region") continue;
    for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
      if (call.catalogue().offer(zone, name) != nullptr) add(name, zone);
  }
  return paged(call.params, "instanceTypeOfferingSet", items);
}

Json describe_spot_prices(const Ec2Call& call) {
  const std::vector<std::string> types = call.params.list("InstanceType");
  const std::vector<std::string> products = call.params.list("ProductDescription");
  const auto has = [](const std::vector<std::string>& list, const std::string& each) {
    return list.empty() || contains(list, each);
  };
  Json items = Json::array();
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
    for (const auto& [name, type] : call.catalogue().types) {
      const Offer* offer = call.catalogue().offer(zone, name);
      if (offer == nullptr || offer->spot_price <= 0 || !has(types, name)) continue;
      if (!has(products, "Linux/UNIX") || call.params.get("AvailabilityZone", zone) != zone ||
          !passes(call.params,
                  {{"instance-type", {name}},
                   {"availability-zone", {zone}},
                   {"product-description", {"Linux/UNIX"}}},
                  {}))
        continue;
      items.push_back({{"instanceType", name},
                       {"productDescription", "Linux/UNIX"},
                       {"spotPrice", std::to_string(offer->spot_price)},
                       {"timestamp", iso_time(call.world.now())},
                       {"availabilityZone", zone}});
    }
  return paged(call.params, "spotPriceHistorySet", items);
}

Json describe_zones(const Ec2Call& call) {
  Json out = {{"availabilityZoneInfo", Json::array()}};
  const std::vector<std::string> names = call.params.list("ZoneName");
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region)) {
    const Facts facts = {{"zone-name", {zone}},
                         {"state", {"available"}},
                         {"region-name", {call.scope.region}},
                         {"zone-type", {"availability-zone"}},
                         {"opt-in-status", {"opt-in-not-required"}}};
    if ((names.empty() || contains(names, zone)) && passes(call.params, facts, {}))
      out["availabilityZoneInfo"].push_back({{"zoneName", zone},
                                             {"zoneState", "available"},
                                             {"regionName", call.scope.region},
                                             {"zoneType", "availability-zone"},
                                             {"optInStatus", "opt-in-not-required"}});
  }
  return out;
}

Json describe_regions(const Ec2Call& call) {
  Json out = {{"regionInfo", Json::array()}};
  const std::vector<std::string> names = call.params.list("RegionName");
  for (const auto& [region, zones] : call.catalogue().regions)
    if ((names.empty() || contains(names, region)) &&
        passes(call.params, {{"region-name", {region}}, {"opt-in-status", {"opt-in-not-required"}}},
               {}))
      out["regionInfo"].push_back({{"regionName", region},
                                   {"regionEndpoint", "ec2." + region + ".amazonaws.com"},
                                   {"optInStatus", "opt-in-not-required"}});
  return out;
}

constexpr Ec2Action kCatalogueActions[] = {
    {"DescribeInstanceTypes",
     "InstanceType "
     "Filter:instance-type,current-generation,processor-info.supported-architecture,network-info."
     "efa-supported,supported-usage-class MaxResults NextToken",
     describe_types},
    {"DescribeInstanceTypeOfferings",
     "LocationType Filter:instance-type,location MaxResults NextToken", describe_offerings},
    {"DescribeSpotPriceHistory",
     "InstanceType ProductDescription StartTime EndTime AvailabilityZone "
     "Filter:instance-type,availability-zone,product-description MaxResults "
     "NextToken",
     describe_spot_prices},
    {"DescribeAvailabilityZones",
     "ZoneName ZoneId Filter:zone-name,state,region-name,zone-type,opt-in-status "
     "AllAvailabilityZones",
     describe_zones},
    {"DescribeRegions", "RegionName Filter:region-name,opt-in-status AllRegions", describe_regions},
};

}  // namespace

std::span<const Ec2Action> catalogue_actions() {
  return kCatalogueActions;
}

}  // namespace fastgpu::cloudsim::aws
