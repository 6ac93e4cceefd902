
#include "base/contains.hpp"
#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/world/live.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

bool is_listed_there(const std::vector<std::string>& ids, const std::string& id) {
  return ids.empty() || contains(ids, id);
}

void check_key_name(const TencentCall& call, const std::string& name) {
  if (name.size() > 25)
    throw refusal("InvalidKeyPairNameTooLong", "A key pair's name has at most 25 characters.");
  for (const unsigned char c : name)
    if (std::isalnum(c) == 0 && c != '_')
      throw refusal("InvalidKeyPairNameIncludeIllegalChar",
                    "A key pair's name is of letters, digits and _.");
  for (const Resource* other : call.world.resources_of(call.scope, "key"))
    if (other->name == name)
      throw refusal("InvalidKeyPairName.Duplicate", "The key pair's name `" + name + "` exists.");
}

Json import_key(const TencentCall& call) {
  const std::string name = call.text("KeyName");
  const std::string key = call.text("PublicKey");
  check_key_name(call, name);
  if (!key.starts_with("ssh-rsa "))
    throw refusal("InvalidPublicKey.Malformed", "The public key is no OpenSSH RSA key.");
  for (const Resource* other : call.world.resources_of(call.scope, "key"))
    if (other->data.at("public") == key)
      throw refusal("InvalidPublicKey.Duplicate", "The public key exists already.");
  Resource& made = call.world.add(call.scope, "key", call.world.new_id("skey-", 8));
  made.name = name;
  made.data = {{"public", key}};
  made.tags = specified_tags(call, "keypair");
  return {{"KeyId", made.id}};
}

Json describe_keys(const TencentCall& call) {
  check_one_of(call, "KeyIds");
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "key"))
    if (is_listed_there(call.list("KeyIds"), each->id) &&
        passes(call, {{"key-name", {each->name}}, {"project-id", {"0"}}}, each->tags))
      items.push_back({{"KeyId", each->id},
                       {"KeyName", each->name},
                       {"ProjectId", 0},
                       {"PublicKey", each->data.at("public")},
                       {"CreatedTime", iso_time(each->created)},
                       {"Tags", tag_list(each->tags)}});
  return paged(call, "KeyPairSet", items, Numbers::whole);
}

Json delete_keys(const TencentCall& call) {
  std::vector<Resource*> all;
  for (const std::string& id : call.list("KeyIds"))
    all.push_back(&resource(call, "key", id));
  for (Resource* each : all) {
    for (const Instance* instance : live_instances(call.world, call.scope))
      if (instance->key == each->id)
        throw refusal("InvalidParameterValue.KeyPairNotSupported",
                      each->id + " is on an instance.");
    call.world.remove(*each);
  }
  return Json::object();
}

Json shape_hpc(const TencentCall& call, const Resource& hpc) {
  Json members = Json::array();
  for (const Instance* instance : live_instances(call.world, call.scope))
    if (instance->placement == hpc.id) members.push_back(instance->id);
  return {{"HpcClusterId", hpc.id},
          {"Name", hpc.name},
          {"Zone", hpc.data.at("zone")},
          {"CurrentNum", members.size()},
          {"InstanceIds", members},
          {"HpcClusterType", "STANDARD"},
          {"CreateTime", iso_time(hpc.created)},
          {"Tags", tag_list(hpc.tags)}};
}

Json create_hpc(const TencentCall& call) {
  const std::string zone = call.text("Zone");
  if (!call.catalogue().has_zone(call.scope.region, zone))
    throw refusal("InvalidParameterValue.ZoneNotSupported", "The zone `" + zone + "` has none.");
  Resource& made = call.world.add(call.scope, "hpc", call.world.new_id("hpc-", 8));
  made.name = call.text("Name");
  made.data = {{"zone", zone}};
  made.tags = specified_tags(call, "hpc");
  return {{"HpcClusterSet", {shape_hpc(call, made)}}};
}

Json describe_hpc(const TencentCall& call) {
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "hpc"))
    if (is_listed_there(call.list("HpcClusterIds"), each->id) &&
        (call.text("Name").empty() || call.text("Name") == each->name))
      items.push_back(shape_hpc(call, *each));
  return paged(call, "HpcClusterSet", items, Numbers::whole);
}

Json delete_hpc(const TencentCall& call) {
  for (const std::string& id : call.list("HpcClusterIds")) {
    Resource& hpc = resource(call, "hpc", id);
    if (!shape_hpc(call, hpc).at("InstanceIds").empty())
      throw refusal("ResourceInUse.HpcCluster", "The HPC cluster `" + id + "` has instances.");
    call.world.remove(hpc);
  }
  return Json::object();
}

Json describe_disks(const TencentCall& call) {
  check_one_of(call, "DiskIds");
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "disk")) {
    const auto owner = call.world.instances.find(each->data.at("instance"));
    const bool attached = owner != call.world.instances.end() && !owner->second.ended;
    if (is_listed_there(call.list("DiskIds"), each->id) &&
        passes(call,
               {{"disk-id", {each->id}},
                {"instance-id", {each->data.at("instance")}},
                {"zone", {each->data.at("zone")}},
                {"disk-state", {attached ? "ATTACHED" : "UNATTACHED"}}},
               each->tags))
      items.push_back({{"DiskId", each->id},
                       {"DiskType", each->data.at("type")},
                       {"DiskSize", each->data.at("size_gb")},
                       {"DiskUsage", each->data.at("system") ? "SYSTEM_DISK" : "DATA_DISK"},
                       {"DiskState", attached ? "ATTACHED" : "UNATTACHED"},
                       {"Attached", attached},
                       {"InstanceId", attached ? each->data.at("instance") : Json("")},
                       {"DeleteWithInstance", each->data.at("delete")},
                       {"Placement", {{"Zone", each->data.at("zone")}}},
                       {"Tags", tag_list(each->tags)}});
  }
  return paged(call, "DiskSet", items, Numbers::whole);
}

Json terminate_disks(const TencentCall& call) {
  for (const std::string& id : call.list("DiskIds"))
    call.world.remove(resource(call, "disk", id));
  return Json::object();
}

/// Returns the tags of the resource in "qcs::cvm:region:uin/1000:instance/ins-x", after the last
/// slash.
Tags* tags_of(const TencentCall& call, const std::string& name) {
  const std::string id = split(name, '/').back();
  // The service has no regions: the name of the resource has one.
  Scope scope = call.scope;
  if (const auto parts = split(name, ':'); parts.size() > 3) scope.region = parts[3];
  if (Instance* instance = call.world.find_instance(scope, id)) return &instance->tags;
  const auto found = call.world.resources.find(id);
  const bool there = found != call.world.resources.end() && !found->second.deleted &&
                     found->second.scope.account == call.scope.account;
  return there && name.starts_with("qcs::") ? &found->second.tags : nullptr;
}

template <class Change>
Json change_tags(const TencentCall& call, Change change) {
  Json out = {{"FailedResources", Json::array()}};
  for (const std::string& name : call.list("ResourceList")) {
    if (Tags* tags = tags_of(call, name))
      change(*tags);
    else
      out["FailedResources"].push_back({{"Resource", name},
                                        {"Code", "InvalidParameterValue.ResourceIdInvalid"},
                                        {"Message", "there is no such resource"}});
  }
  return out;
}

Json tag_resources(const TencentCall& call) {
  return change_tags(call, [&](Tags& tags) {
    for (const Json& tag : call.body.at("Tags"))
      tags[tag.at("TagKey")] = tag.at("TagValue");
  });
}

Json untag_resources(const TencentCall& call) {
  return change_tags(call, [&](Tags& tags) {
    for (const std::string& key : call.list("TagKeys"))
      tags.erase(key);
  });
}

Json caller(const TencentCall& call) {
  return {{"Arn", "qcs::cam::uin/" + call.scope.account + ":uin/" + call.scope.account},
          {"AccountId", call.scope.account},
          {"UserId", call.scope.account},
          {"PrincipalId", call.scope.account},
          {"Type", "CAMUser"}};
}

constexpr TencentAction kOthersActions[] = {
    {"cvm", "ImportKeyPair", "KeyName! ProjectId! PublicKey! TagSpecification", import_key},
    {"cvm", "DescribeKeyPairs", "KeyIds Filters:key-name,project-id Offset Limit", describe_keys},
    {"cvm", "DeleteKeyPairs", "KeyIds!", delete_keys},
    {"cvm", "CreateHpcCluster", "Zone! Name! Remark HpcClusterType TagSpecification", create_hpc},
    {"cvm", "DescribeHpcClusters", "HpcClusterIds Name Zone Offset Limit HpcClusterType",
     describe_hpc},
    {"cvm", "DeleteHpcClusters", "HpcClusterIds!", delete_hpc},
    {"cbs", "DescribeDisks",
     "DiskIds Filters:disk-id,instance-id,zone,disk-state Offset Limit Order OrderField",
     describe_disks},
    {"cbs", "TerminateDisks", "DiskIds!", terminate_disks},
    {"tag", "TagResources", "ResourceList! Tags!", tag_resources},
    {"tag", "UnTagResources", "ResourceList! TagKeys!", untag_resources},
    {"sts", "GetCallerIdentity", "", caller},
};

}  // namespace

std::span<const TencentAction> other_actions() {
  return kOthersActions;
}

}  // namespace fastgpu::cloudsim::tencent
