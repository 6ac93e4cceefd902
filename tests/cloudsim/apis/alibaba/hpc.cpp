// High-performance clusters and deployment sets. They have no tags, and can be filtered only by id.

#include "base/join.hpp"

#include "cloudsim/apis/alibaba/call.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

Json create_hpc(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "hpc")) return {{"HpcClusterId", before->id}};
  const std::string name = call.params.get("Name");
  if (name.size() < 2 || name.size() > 128)
    throw ProtocolViolation(400, "InvalidHpcClusterName.Malformed",
                            "Name has 2 to 128 characters.");
  if (call.params.get("Description").size() > 256)
    throw ProtocolViolation(400, "InvalidDescription.Malformed",
                            "Description has up to 256 characters.");
  Resource& made = call.world.add(call.scope, "hpc", call.world.new_id("hpc-", 20));
  made.name = name;
  made.data = {{"description", call.params.get("Description")},
               {"token", call.params.get("ClientToken")}};
  return {{"HpcClusterId", made.id}};
}

/// Returns the resources of a kind whose ids are in a JSON array, or all of them without it.
std::vector<const Resource*> wanted(const AlibabaCall& call, const std::string& kind,
                                    const std::string& ids_parameter) {
  const std::string ids = call.params.get(ids_parameter);
  std::vector<const Resource*> found;
  for (const Resource* each : call.world.resources_of(call.scope, kind))
    if (ids.empty() || ids.find('"' + each->id + '"') != std::string::npos) found.push_back(each);
  return found;
}

Json describe_hpc(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Resource* each : wanted(call, "hpc", "HpcClusterIds"))
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

Json create_set(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "set")) return {{"DeploymentSetId", before->id}};
  const std::string strategy = call.params.get("Strategy", "Availability");
  if (strategy != "Availability" && strategy != "AvailabilityGroup" && strategy != "LowLatency")
    throw ProtocolViolation(400, "InvalidStrategy.NotSupported", strategy + " is no strategy.");
  const std::string description = call.params.get("Description");
  if (description.size() > 256)
    throw ProtocolViolation(400, "InvalidDescription.Malformed",
                            "Description has up to 256 characters.");
  Resource& made = call.world.add(call.scope, "set", call.world.new_id("ds-", 20));
  made.name = call.params.get("DeploymentSetName");
  made.data = {{"description", description},
               {"strategy", strategy},
               {"token", call.params.get("ClientToken")}};
  return {{"DeploymentSetId", made.id}};
}

Json describe_sets(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Resource* each : wanted(call, "set", "DeploymentSetIds"))
    items.push_back({{"DeploymentSetId", each->id},
                     {"DeploymentSetName", each->name},
                     {"DeploymentSetDescription", each->data.at("description")},
                     {"Strategy", each->data.at("strategy")}});
  return paged(call, "DeploymentSets", "DeploymentSet", items, 50);
}

Json delete_set(const AlibabaCall& call) {
  Resource& set = resource(call, "set", call.params.get("DeploymentSetId"));
  for (const Instance* each : call.world.instances_of(call.scope))
    if (each->placement == set.id && each->state != State::terminated)
      throw Refusal(403, "DependencyViolation.NotEmpty",
                    "There are still instance(s) in the specified DeploymentSetId.");
  call.world.remove(set);
  return Json::object();
}

/// Returns the families that can be placed close together: those with elastic RDMA.
Json families_in_sets(const AlibabaCall& call) {
  std::string families;
  for (const auto& [name, type] : call.catalogue().types)
    if (type.rdma_interfaces > 0 && !name.starts_with("ecs.scc"))
      append_item(families, name.substr(0, name.rfind('.')), ",");
  return {{"InstanceTypeFamilies", families}};
}

constexpr AlibabaAction kHpcActions[] = {
    {"ecs", "CreateHpcCluster", "RegionId! Name! Description ClientToken", create_hpc},
    {"ecs", "DescribeHpcClusters", "RegionId! HpcClusterIds ClientToken PageNumber PageSize",
     describe_hpc},
    {"ecs", "DeleteHpcCluster", "RegionId! HpcClusterId! ClientToken", delete_hpc},
    {"ecs", "CreateDeploymentSet",
     "RegionId! DeploymentSetName Description Strategy ClientToken "
     "OnUnableToRedeployFailedInstance",
     create_set},
    {"ecs", "DescribeDeploymentSets",
     "RegionId! DeploymentSetIds DeploymentSetName Strategy PageNumber PageSize", describe_sets},
    {"ecs", "DeleteDeploymentSet", "RegionId! DeploymentSetId!", delete_set},
    {"ecs", "DescribeDeploymentSetSupportedInstanceTypeFamily", "RegionId! Strategy",
     families_in_sets},
};

}  // namespace

std::span<const AlibabaAction> hpc_actions() {
  return kHpcActions;
}

}  // namespace fastgpu::cloudsim::alibaba
