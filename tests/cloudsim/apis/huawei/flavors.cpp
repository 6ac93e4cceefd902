
#include "base/join.hpp"

#include "cloudsim/apis/huawei/call.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

/// Returns the types that are offered in a zone of the region.
std::vector<const MachineType*> types_of(const HuaweiCall& call) {
  std::vector<const MachineType*> out;
  for (const auto& [name, type] : call.catalogue().types)
    for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
      if (call.catalogue().offer(zone, name) != nullptr && (out.empty() || out.back() != &type))
        out.push_back(&type);
  return out;
}

Json devices(const MachineType& type) {
  const bool npu = type.gpu.starts_with("Ascend");
  const std::string name = npu ? "Ascend " + type.gpu.substr(6) : "NVIDIA " + type.gpu;
  return Json::array({{{"name", name}, {"count", type.gpus}, {"memory_mb", type.gpu_memory_mb}}});
}

Json extra_specs(const HuaweiCall& call, const MachineType& type) {
  std::string zones, spot;
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region)) {
    const Offer* offer = call.catalogue().offer(zone, type.name);
    if (offer == nullptr) continue;
    append_item(zones, zone + (offer->stock == 0 ? "(sellout)" : "(normal)"));
    if (offer->spot_stock != 0) append_item(spot, zone + "(normal)");
  }
  Json specs = {{"ecs:performancetype", type.gpus > 0 ? "gpu" : "normal"},
                {"ecs:virtualization_env_types", "FusionCompute"},
                {"ecs:instance_architecture", type.architecture == "arm64" ? "arm64" : "x86"},
                {"resource_type", "IOoptimized"},
                {"cond:operation:status", "abandon"},
                {"cond:operation:az", zones},
                {"quota:max_rate", std::to_string(int(type.gbps * 1000))}};
  if (!spot.empty()) specs["cond:spot:operation:az"] = spot;
  if (type.gpus > 0)
    specs[type.gpu.starts_with("Ascend") ? "info:asic_accelerators" : "info:gpus"] =
        devices(type).dump();
  return specs;
}

Answered list_flavors(const HuaweiCall& call) {
  std::vector<Json> flavors;
  for (const MachineType* type : types_of(call)) {
    const std::string zone = call.asked("availability_zone");
    if (!zone.empty() && call.catalogue().offer(zone, type->name) == nullptr) continue;
    if (call.asked("flavor_id", type->name) != type->name) continue;
    flavors.push_back({{"id", type->name},
                       {"name", type->name},
                       {"vcpus", std::to_string(type->vcpus)},
                       {"ram", type->memory_mb},
                       {"disk", "0"},
                       {"os-flavor-access:is_public", true},
                       {"os_extra_specs", extra_specs(call, *type)}});
  }
  return {200, marked_page(call, "flavors", flavors)};
}

Answered list_policies(const HuaweiCall& call) {
  std::vector<Json> policies;
  const std::string mode = call.asked("sell_mode", "spot");
  int id = 0;
  for (const MachineType* type : types_of(call))
    for (const std::string& zone : call.catalogue().regions.at(call.scope.region)) {
      const Offer* offer = call.catalogue().offer(zone, type->name);
      if (offer == nullptr || (mode == "spot" && offer->spot_price <= 0)) continue;
      const std::int64_t stock = mode == "spot" ? offer->spot_stock : offer->stock;
      policies.push_back({{"id", ++id},
                          {"flavor_id", type->name},
                          {"sell_status", stock == 0 ? "sellout" : "available"},
                          {"availability_zone_id", zone},
                          {"sell_mode", mode},
                          {"spot_options", {{"longest_spot_duration_hours", 6}}}});
    }
  return {200, {{"sell_policies", policies}, {"count", policies.size()}}};
}

Answered show_capacity(const HuaweiCall& call) {
  const std::string type = call.path.at("flavor_id");
  if (call.catalogue().type(type) == nullptr)
    throw Refusal(404, "Ecs.0029", "The flavor " + type + " does not exist.");
  const auto count = std::int64_t(asked_number(call, "count", 1, 1'000'000));
  Json found = Json::array();
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region)) {
    const Offer* offer = call.catalogue().offer(zone, type);
    if (offer != nullptr && (offer->stock < 0 || offer->stock >= count))
      found.push_back({{"region_id", call.scope.region}, {"availability_zone", zone}});
  }
  return {200, {{"resources", found}}};
}

Answered list_zones(const HuaweiCall& call) {
  Json zones = Json::array();
  for (const std::string& zone : call.catalogue().regions.at(call.scope.region))
    zones.push_back({{"zoneName", zone}, {"zoneState", {{"available", true}}}});
  return {200, {{"availabilityZoneInfo", zones}}};
}

Answered show_limits(const HuaweiCall& call) {
  const auto limit = [&](const std::string& group) {
    const auto most = call.catalogue().quota(call.scope.region, group);
    return most ? Json(int(*most)) : Json(-1);
  };
  const auto used = [&](const std::string& group) {
    return int(call.world.quota_used(call.scope, group));
  };
  return {200,
          {{"absolute",
            {{"maxTotalInstances", limit("instances")},
             {"totalInstancesUsed", used("instances")},
             {"maxTotalCores", -1},
             {"totalCoresUsed", 0},
             {"maxTotalRAMSize", -1},
             {"totalRAMUsed", 0},
             {"maxTotalSpotInstances", limit("instances/spot")},
             {"totalSpotInstancesUsed", used("instances/spot")}}}}};
}

constexpr HuaweiAction kFlavorsActions[] = {
    {"ecs", "ListFlavors", "GET", "/v1/{project_id}/cloudservers/flavors", "", list_flavors},
    {"ecs", "ListFlavorSellPolicies", "GET", "/v1/{project_id}/cloudservers/flavor-sell-policies",
     "", list_policies},
    {"ecs", "ShowFlavorCapacity", "GET",
     "/v1/{project_id}/cloudservers/flavors/{flavor_id}/resources", "", show_capacity},
    {"ecs", "NovaListAvailabilityZones", "GET", "/v2.1/{project_id}/os-availability-zone", "",
     list_zones},
    {"ecs", "ShowServerLimits", "GET", "/v1/{project_id}/cloudservers/limits", "", show_limits},
};

}  // namespace

std::span<const HuaweiAction> flavor_actions() {
  return kFlavorsActions;
}

}  // namespace fastgpu::cloudsim::huawei
