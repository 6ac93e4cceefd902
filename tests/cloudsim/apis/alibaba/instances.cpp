#include <fnmatch.h>

#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/world/live.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

/// Returns the status of an instance. An instance that is being released is shown as stopping
/// first.
std::string status_of(const Instance& instance) {
  switch (instance.state) {
    case State::pending:
      return "Pending";
    case State::starting:
      return "Starting";
    case State::running:
      return "Running";
    case State::stopping:
    case State::shutting_down:
      return "Stopping";
    case State::stopped:
    case State::terminated:
    case State::failed:
      return "Stopped";
  }
  return "Stopped";
}

Json addresses(const std::string& address) {
  return {{"IpAddress", address.empty() ? Json::array() : Json::array({address})}};
}

Json shape(const AlibabaCall& call, const Instance& each) {
  const MachineType& type = *call.catalogue().type(each.type);
  Json locks = Json::array();
  if (each.reclaim_at) locks.push_back({{"LockReason", "Recycling"}});
  Json out = {{"InstanceId", each.id},
              {"InstanceName", each.name},
              {"HostName", each.id.substr(2)},
              {"Status", status_of(each)},
              {"RegionId", each.scope.region},
              {"ZoneId", each.zone},
              {"ImageId", each.image},
              {"InstanceType", each.type},
              {"Cpu", type.vcpus},
              {"Memory", type.memory_mb},
              {"GPUAmount", type.gpus},
              {"GPUSpec", type.gpus > 0 ? type.gpu_maker + " " + type.gpu : ""},
              {"CreationTime", iso_time(each.created).substr(0, 16) + "Z"},
              {"InstanceChargeType", "PostPaid"},
              {"SpotStrategy", each.market == Market::spot ? "SpotAsPriceGo" : "NoSpot"},
              {"StoppedMode", each.extra.value("stopped_mode", "Not-applicable")},
              {"AutoReleaseTime", each.release_at ? iso_time(*each.release_at) : ""},
              {"PublicIpAddress", addresses(told_public_address(call.world, each))},
              {"EipAddress", {{"AllocationId", ""}, {"IpAddress", ""}}},
              {"InnerIpAddress", addresses("")},
              {"RdmaIpAddress", addresses("")},
              {"OperationLocks", {{"LockReason", locks}}},
              {"SecurityGroupIds", {{"SecurityGroupId", each.groups}}},
              {"Tags", ecs_tags(each.tags)}};
  out["VpcAttributes"] = {{"VpcId", each.vpc},
                          {"VSwitchId", each.subnet},
                          {"NatIpAddress", ""},
                          {"PrivateIpAddress", addresses(each.private_address)}};
  return out;
}

/// Returns the ids in a parameter, which is a JSON list in a string.
std::vector<std::string> listed_ids(const Params& params, const char* name) {
  const auto text = params.find(name);
  if (!text) return {};
  const Json list = Json::parse(*text, nullptr, false);
  const bool is_list = list.is_array() && !list.empty() && list.size() <= 100 &&
                       std::ranges::all_of(list, [](const Json& id) { return id.is_string(); });
  if (!is_list)
    throw ProtocolViolation(400, "InvalidInstanceIds.Malformed",
                            std::string(name) + " is no JSON list of 1 to 100 ids.");
  return list.get<std::vector<std::string>>();
}

bool passes(const AlibabaCall& call, const Instance& each) {
  const std::pair<const char*, std::string> facts[] = {
      {"VpcId", each.vpc},         {"VSwitchId", each.subnet}, {"ZoneId", each.zone},
      {"InstanceType", each.type}, {"ImageId", each.image},    {"Status", status_of(each)}};
  for (const auto& [name, value] : facts)
    if (call.params.get(name, value) != value) return false;
  const std::string pattern = call.params.get("InstanceName", "*");
  return fnmatch(pattern.c_str(), each.name.c_str(), 0) == 0 && passes_tags(call.params, each.tags);
}

/// Returns the selected instances, the newest first. Missing ones are left out.
std::vector<const Instance*> selected(const AlibabaCall& call,
                                      const std::vector<std::string>& ids) {
  std::vector<const Instance*> out;
  for (const Instance* each : call.world.instances_of(call.scope)) {
    const bool is_named = ids.empty() || contains(ids, each->id);
    if (is_named && passes(call, *each)) out.push_back(each);
  }
  std::ranges::sort(out, [](const Instance* one, const Instance* other) {
    return std::tie(one->created, one->id) > std::tie(other->created, other->id);
  });
  return out;
}

Json describe_instances(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Instance* each : selected(call, listed_ids(call.params, "InstanceIds")))
    items.push_back(shape(call, *each));
  return paged(call, "Instances", "Instance", items, 100);
}

Json describe_status(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Instance* each : selected(call, call.params.list("InstanceId")))
    items.push_back({{"InstanceId", each->id}, {"Status", status_of(*each)}});
  return paged(call, "InstanceStatuses", "InstanceStatus", items, 50);
}

constexpr AlibabaAction kInstancesActions[] = {
    {"ecs", "DescribeInstances",
     "RegionId! InstanceIds Tag Status MaxResults NextToken PageNumber PageSize VpcId VSwitchId "
     "ZoneId InstanceName InstanceType ImageId InstanceChargeType InstanceNetworkType DryRun",
     describe_instances},
    {"ecs", "DescribeInstanceStatus", "RegionId! InstanceId ZoneId PageNumber PageSize",
     describe_status},
};

}  // namespace

std::span<const AlibabaAction> instance_actions() {
  return kInstancesActions;
}

}  // namespace fastgpu::cloudsim::alibaba
