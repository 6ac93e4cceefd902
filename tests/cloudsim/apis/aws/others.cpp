
#include "base/contains.hpp"
#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/auth/digest.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/world/live.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

constexpr std::size_t kTagLimit = 50;

Tags& tags_of(const Ec2Call& call, const std::string& id) {
  if (id.starts_with("i-")) return instance(call, id).tags;
  const auto found = call.world.resources.find(id);
  if (found == call.world.resources.end() || found->second.deleted ||
      found->second.scope != call.scope)
    throw Refusal(400, "InvalidID", "The ID '" + id + "' is not valid");
  return found->second.tags;
}

Json create_tags(const Ec2Call& call) {
  std::vector<Tags*> all;
  for (const std::string& id : call.params.list("ResourceId"))
    all.push_back(&tags_of(call, id));
  stop_if_dry_run(call.params);
  for (Tags* tags : all)
    for (const Params& tag : call.params.structures("Tag")) {
      (*tags)[tag.get("Key")] = tag.get("Value");
      if (tags->size() > kTagLimit)
        throw Refusal(400, "TagLimitExceeded", "A resource carries at most 50 tags");
    }
  return ok();
}

/// Deletes tags. A tag that is given with a value is deleted only if it has that value.
Json delete_tags(const Ec2Call& call) {
  for (const std::string& id : call.params.list("ResourceId")) {
    Tags& tags = tags_of(call, id);
    for (const Params& tag : call.params.structures("Tag")) {
      const auto found = tags.find(tag.get("Key"));
      const auto value = tag.find("Value");
      if (found != tags.end() && (!value || *value == found->second)) tags.erase(found);
    }
  }
  return ok();
}

/// Returns EC2's name for a kind of resource in answers about tags.
std::string type_word(const std::string& kind) {
  static const std::map<std::string, std::string> words = {{"gateway", "internet-gateway"},
                                                           {"group", "security-group"},
                                                           {"key", "key-pair"},
                                                           {"address", "elastic-ip"},
                                                           {"interface", "network-interface"},
                                                           {"placement", "placement-group"}};
  const auto found = words.find(kind);
  return found == words.end() ? kind : found->second;
}

/// Returns one entry per tag.
Json describe_tags(const Ec2Call& call) {
  Json found = Json::array();
  const auto add = [&](const std::string& id, const std::string& type, const Tags& tags) {
    for (const auto& [key, value] : tags)
      if (passes(call.params,
                 {{"resource-id", {id}},
                  {"resource-type", {type}},
                  {"key", {key}},
                  {"value", {value}}},
                 tags))
        found.push_back(
            {{"resourceId", id}, {"resourceType", type}, {"key", key}, {"value", value}});
  };
  for (const Instance* each : live_instances(call.world, call.scope))
    add(each->id, "instance", each->tags);
  for (const auto& [id, each] : call.world.resources)
    if (each.scope == call.scope && !each.deleted) add(id, type_word(each.kind), each.tags);
  const Page part = page(call.params, found.size(), 5, 1000);
  Json out = {{"tagSet", Json::array()}};
  for (std::size_t i = part.begin; i < part.end; ++i)
    out["tagSet"].push_back(found[i]);
  if (!part.next.empty()) out["nextToken"] = part.next;
  return out;
}

Json shape_key(const Ec2Call& call, const Resource& key) {
  Json out = {{"keyPairId", key.id},
              {"keyName", key.name},
              {"keyFingerprint", key.data.at("fingerprint")},
              {"keyType", key.data.at("type")},
              {"tagSet", tag_set(key.tags)}};
  if (call.params.flag("IncludePublicKey")) out["publicKey"] = key.data.at("public");
  return out;
}

Facts key_facts(const Resource& key) {
  return {{"key-name", {key.name}}, {"key-pair-id", {key.id}}};
}

Resource* key_named(const Ec2Call& call, const std::string& name) {
  for (Resource* key : call.world.resources_of(call.scope, "key"))
    if (key->name == name) return key;
  return nullptr;
}

Json import_key(const Ec2Call& call) {
  const std::string name = call.params.get("KeyName");
  if (key_named(call, name) != nullptr)
    throw Refusal(400, "InvalidKeyPair.Duplicate", "The keypair '" + name + "' already exists.");
  std::string material;
  try {
    material = base64_decode(call.params.get("PublicKeyMaterial"));
  } catch (const std::exception&) {
    material.clear();
  }
  const std::string type = split(material, ' ').front();
  if (type != "ssh-ed25519" && type != "ssh-rsa")
    throw Refusal(400, "InvalidKey.Format", "Key is not in valid OpenSSH public key format");
  stop_if_dry_run(call.params);
  Resource& made = call.world.add(call.scope, "key", call.world.new_id("key-", 17));
  made.name = name;
  made.tags = tags_for(call.params, "key-pair");
  made.data = {
      {"type", type.substr(4)}, {"fingerprint", sha256_hex(material)}, {"public", material}};
  return shape_key(call, made);
}

Json describe_keys(const Ec2Call& call) {
  const std::vector<std::string> names = call.params.list("KeyName");
  for (const std::string& name : names)
    if (key_named(call, name) == nullptr)
      throw Refusal(400, "InvalidKeyPair.NotFound", "The key pair '" + name + "' does not exist");
  Json out = describe(call, "key", "KeyPairId", "keySet", key_facts, shape_key);
  if (names.empty()) return out;
  Json kept = Json::array();
  for (const Json& key : out.at("keySet"))
    if (contains(names, key.at("keyName").get<std::string>())) kept.push_back(key);
  return {{"keySet", kept}};
}

/// Deletes a key pair. EC2 does not treat a missing one as an error.
Json delete_key(const Ec2Call& call) {
  Resource* key = call.params.find("KeyPairId")
                      ? call.world.find(call.scope, "key", call.params.get("KeyPairId"))
                      : key_named(call, call.params.get("KeyName"));
  if (key != nullptr) call.world.remove(*key);
  return ok();
}

Json shape_placement(const Ec2Call&, const Resource& group) {
  return {{"groupName", group.name},
          {"groupId", group.id},
          {"state", "available"},
          {"strategy", group.data.at("strategy")},
          {"tagSet", tag_set(group.tags)}};
}

Facts placement_facts(const Resource& group) {
  return {{"group-name", {group.name}},
          {"strategy", {group.data.at("strategy")}},
          {"state", {"available"}}};
}

Resource* placement_named(const Ec2Call& call, const std::string& name) {
  for (Resource* group : call.world.resources_of(call.scope, "placement"))
    if (group->name == name) return group;
  return nullptr;
}

Json create_placement(const Ec2Call& call) {
  const std::string name = call.params.get("GroupName");
  if (placement_named(call, name) != nullptr)
    throw Refusal(400, "InvalidPlacementGroup.Duplicate",
                  "The placement group '" + name + "' already exists.");
  stop_if_dry_run(call.params);
  Resource& made = call.world.add(call.scope, "placement", call.world.new_id("pg-", 17));
  made.name = name;
  made.data = {{"strategy", call.params.get("Strategy", "cluster")}};
  made.tags = tags_for(call.params, "placement-group");
  Json out = ok();
  out["placementGroup"] = shape_placement(call, made);
  return out;
}

Json describe_placements(const Ec2Call& call) {
  const std::vector<std::string> names = call.params.list("GroupName");
  for (const std::string& name : names)
    if (placement_named(call, name) == nullptr)
      throw Refusal(400, "InvalidPlacementGroup.Unknown",
                    "The Placement Group '" + name + "' is unknown.");
  Json out = {{"placementGroupSet", Json::array()}};
  for (const Resource* group : call.world.resources_of(call.scope, "placement"))
    if ((names.empty() || contains(names, group->name)) &&
        passes(call.params, placement_facts(*group), group->tags))
      out["placementGroupSet"].push_back(shape_placement(call, *group));
  return out;
}

Json delete_placement(const Ec2Call& call) {
  const std::string name = call.params.get("GroupName");
  Resource* group = placement_named(call, name);
  if (group == nullptr)
    throw Refusal(400, "InvalidPlacementGroup.Unknown",
                  "The Placement Group '" + name + "' is unknown.");
  for (const Instance* each : live_instances(call.world, call.scope))
    if (each->placement == name)
      throw Refusal(400, "InvalidPlacementGroup.InUse",
                    "The placement group '" + name + "' is in use and may not be deleted.");
  call.world.remove(*group);
  return ok();
}

Json shape_volume(const Ec2Call& call, const Resource& volume) {
  const auto owner = call.world.instances.find(volume.data.at("instance"));
  const bool attached =
      owner != call.world.instances.end() && owner->second.state != State::terminated;
  Json attachments = Json::array();
  if (attached)
    attachments.push_back({{"instanceId", volume.data.at("instance")},
                           {"device", volume.data.at("device")},
                           {"status", "attached"},
                           {"deleteOnTermination", volume.data.at("delete")}});
  return {{"volumeId", volume.id},
          {"size", volume.data.at("size_gb")},
          {"volumeType", volume.data.at("type")},
          {"availabilityZone", volume.data.at("zone")},
          {"status", attached ? "in-use" : "available"},
          {"attachmentSet", attachments},
          {"tagSet", tag_set(volume.tags)}};
}

Facts volume_facts(const Resource& volume) {
  return {{"volume-id", {volume.id}},
          {"availability-zone", {volume.data.at("zone")}},
          {"attachment.instance-id", {volume.data.at("instance")}}};
}

Json describe_volumes(const Ec2Call& call) {
  return describe(call, "volume", "VolumeId", "volumeSet", volume_facts, shape_volume);
}

Json delete_volume(const Ec2Call& call) {
  Resource& volume = resource(call, "volume", call.params.get("VolumeId"));
  if (shape_volume(call, volume).at("status") == "in-use")
    throw Refusal(400, "VolumeInUse", "Volume " + volume.id + " is currently attached");
  call.world.remove(volume);
  return ok();
}

Json describe_account(const Ec2Call&) {
  const auto entry = [](const char* name, const char* value) {
    return Json{{"attributeName", name}, {"attributeValueSet", {{{"attributeValue", value}}}}};
  };
  return {{"accountAttributeSet",
           {entry("supported-platforms", "VPC"), entry("default-vpc", "none"),
            entry("vpc-max-security-groups-per-interface", "5"), entry("max-elastic-ips", "5")}}};
}

constexpr Ec2Action kOthersActions[] = {
    {"CreateTags", "ResourceId! Tag!", create_tags},
    {"DeleteTags", "ResourceId! Tag", delete_tags},
    {"DescribeTags", "Filter:resource-id,resource-type,key,value MaxResults NextToken",
     describe_tags},
    {"ImportKeyPair", "KeyName! PublicKeyMaterial! TagSpecification", import_key},
    {"DescribeKeyPairs", "KeyName KeyPairId Filter:key-name,key-pair-id IncludePublicKey",
     describe_keys},
    {"DeleteKeyPair", "KeyName KeyPairId", delete_key},
    {"CreatePlacementGroup", "GroupName! Strategy PartitionCount TagSpecification",
     create_placement},
    {"DescribePlacementGroups", "GroupName GroupId Filter:group-name,strategy,state",
     describe_placements},
    {"DeletePlacementGroup", "GroupName!", delete_placement},
    {"DescribeVolumes",
     "VolumeId Filter:volume-id,availability-zone,attachment.instance-id MaxResults NextToken",
     describe_volumes},
    {"DeleteVolume", "VolumeId!", delete_volume},
    {"DescribeAccountAttributes", "AttributeName", describe_account},
};

}  // namespace

std::span<const Ec2Action> other_actions() {
  return kOthersActions;
}

}  // namespace fastgpu::cloudsim::aws
