// High-performance clusters: no tags, and no filters but identities.
#include <algorithm>

#include "cloudsim/faces/alibaba/call.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

Json create_hpc(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "hpc")) return {{"HpcClusterId", before->id}};
  const std::string name = call.params.get("Name");
  if (name.size() < 2 || name.size() > 128)
    throw Violation(400, "InvalidHpcClusterName.Malformed", "Name has 2 to 128 characters.");
  if (call.params.get("Description").size() > 256)
    throw Violation(400, "InvalidDescription.Malformed", "Description has up to 256 characters.");
  Resource& made = call.world.add(call.scope, "hpc", call.world.new_id("hpc-", 20));
  made.name = name;
  made.data = {{"description", call.params.get("Description")},
               {"token", call.params.get("ClientToken")}};
  return {{"HpcClusterId", made.id}};
}

Json describe_hpc(const AlibabaCall& call) {
  const std::string wanted = call.params.get("HpcClusterIds");  // A JSON array.
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "hpc"))
    if (wanted.empty() || wanted.find('"' + each->id + '"') != std::string::npos)
      items.push_back({{"HpcClusterId", each->id},
                       {"Name", each->name},
                       {"Description", each->data.at("description")}});
  return paged(call, "HpcClusters", "HpcCluster", items, 100);
}

Json delete_hpc(const AlibabaCall& call) {
  Resource& hpc = resource(call, "hpc", call.params.get("HpcClusterId"));
  for (const Instance* each : call.world.instances_of(call.scope))
    if (each->placement == hpc.id && each->state != State::terminated)
      throw Refusal(400, "NotEmptyHpcCluster", "The HPC cluster " + hpc.id + " has instances.");
  call.world.remove(hpc);
  return Json::object();
}

constexpr AlibabaAction kActions[] = {
    {"ecs", "CreateHpcCluster", "RegionId! Name! Description ClientToken", create_hpc},
    {"ecs", "DescribeHpcClusters", "RegionId! HpcClusterIds ClientToken PageNumber PageSize",
     describe_hpc},
    {"ecs", "DeleteHpcCluster", "RegionId! HpcClusterId! ClientToken", delete_hpc},
};

}  // namespace

std::span<const AlibabaAction> hpc_actions() {
  return kActions;
}

}  // namespace fastgpu::cloudsim::alibaba
