#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

Json shape_group(const Resource& group) {
  return {{"SecurityGroupId", group.id},
          {"SecurityGroupName", group.name},
          {"SecurityGroupDesc", group.data.at("description")},
          {"ProjectId", "0"},
          {"IsDefault", false},
          {"CreatedTime", iso_time(group.created)},
          {"UpdateTime", iso_time(group.created)},
          {"TagSet", tag_list(group.tags)}};
}

Resource& add_group(const TencentCall& call) {
  Resource& made = call.world.add(call.scope, "group", call.world.new_id("sg-", 8));
  made.name = call.text("GroupName");
  made.tags = read_tags(call.body.value("Tags", Json::array()));
  made.data = {{"description", call.text("GroupDescription")},
               {"Ingress", Json::array()},
               {"Egress", Json::array()}};
  return made;
}

void check_policy(const Json& policy) {
  static const std::vector<std::string> protocols = {"TCP", "UDP", "ICMP", "ICMPv6", "ALL"};
  const std::string protocol = policy.value("Protocol", "ALL");
  const std::string action = policy.value("Action", "");
  if (!contains(protocols, protocol))
    throw violation("InvalidParameterValue", "the protocol `" + protocol + "` is none of ours");
  if (action != "ACCEPT" && action != "DROP")
    throw violation("InvalidParameterValue", "a policy's Action is ACCEPT or DROP");
  const bool from_cidr = policy.contains("CidrBlock");
  if (from_cidr == policy.contains("SecurityGroupId"))
    throw violation("InvalidParameter", "a policy has either CidrBlock or SecurityGroupId");
}

void add_policies(Resource& group, const Json& set) {
  for (const char* direction : {"Ingress", "Egress"})
    for (const Json& policy : set.value(direction, Json::array())) {
      check_policy(policy);
      if (contains(group.data[direction], policy))
        throw refusal("UnsupportedOperation.DuplicatePolicy", "The policy exists already.");
      group.data[direction].push_back(policy);
    }
}

Json create_group(const TencentCall& call) {
  return {{"SecurityGroup", shape_group(add_group(call))}};
}

Json create_with_policies(const TencentCall& call) {
  Resource& made = add_group(call);
  add_policies(made, call.body.value("SecurityGroupPolicySet", Json::object()));
  return {{"SecurityGroup", shape_group(made)}};
}

Json create_policies(const TencentCall& call) {
  const Json& set = call.body.at("SecurityGroupPolicySet");
  if (set.contains("Ingress") == set.contains("Egress"))
    throw violation("InvalidParameter", "policies of one direction in a request");
  add_policies(resource(call, "group", call.text("SecurityGroupId")), set);
  return Json::object();
}

Json delete_policies(const TencentCall& call) {
  Resource& group = resource(call, "group", call.text("SecurityGroupId"));
  const Json& set = call.body.at("SecurityGroupPolicySet");
  for (const char* direction : {"Ingress", "Egress"})
    for (const Json& policy : set.value(direction, Json::array())) {
      Json& policies = group.data[direction];
      const auto found = std::ranges::find(policies, policy);
      if (found == policies.end()) throw refusal("ResourceNotFound", "The policy does not exist.");
      policies.erase(found);
    }
  return Json::object();
}

Json describe_policies(const TencentCall& call) {
  const Resource& group = resource(call, "group", call.text("SecurityGroupId"));
  Json set = {{"Version", "1"}};
  for (const char* direction : {"Ingress", "Egress"}) {
    set[direction] = Json::array();
    for (const Json& policy : group.data.at(direction)) {
      Json shown = policy;
      shown["PolicyIndex"] = set[direction].size();
      set[direction].push_back(shown);
    }
  }
  return {{"SecurityGroupPolicySet", set}};
}

Json describe_groups(const TencentCall& call) {
  check_one_of(call, "SecurityGroupIds");
  const std::vector<std::string> ids = call.list("SecurityGroupIds");
  for (const std::string& id : ids)
    resource(call, "group", id);
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "group"))
    if ((ids.empty() || contains(ids, each->id)) && passes(call,
                                                           {{"security-group-id", {each->id}},
                                                            {"security-group-name", {each->name}},
                                                            {"project-id", {"0"}}},
                                                           each->tags))
      items.push_back(shape_group(*each));
  return paged(call, "SecurityGroupSet", items, Numbers::text);
}

Json delete_group(const TencentCall& call) {
  Resource& group = resource(call, "group", call.text("SecurityGroupId"));
  for (const Resource* other : call.world.resources_of(call.scope, "group"))
    if (other->id != group.id && other->data.dump().find(group.id) != std::string::npos)
      throw ApiFailure(ApiFailureKind::in_use, group.id, other->id + " has a policy with it");
  call.world.remove(group);
  return Json::object();
}

constexpr TencentAction kGroupsActions[] = {
    {"vpc", "CreateSecurityGroup", "GroupName! GroupDescription! ProjectId Tags", create_group},
    {"vpc", "CreateSecurityGroupWithPolicies",
     "GroupName! GroupDescription! ProjectId SecurityGroupPolicySet Tags", create_with_policies},
    {"vpc", "CreateSecurityGroupPolicies", "SecurityGroupId! SecurityGroupPolicySet!",
     create_policies},
    {"vpc", "DeleteSecurityGroupPolicies", "SecurityGroupId! SecurityGroupPolicySet!",
     delete_policies},
    {"vpc", "DescribeSecurityGroupPolicies", "SecurityGroupId!", describe_policies},
    {"vpc", "DescribeSecurityGroups",
     "SecurityGroupIds Filters:security-group-id,security-group-name,project-id Offset Limit "
     "OrderField OrderDirection",
     describe_groups},
    {"vpc", "DeleteSecurityGroup", "SecurityGroupId!", delete_group},
};

}  // namespace

std::span<const TencentAction> group_actions() {
  return kGroupsActions;
}

}  // namespace fastgpu::cloudsim::tencent
