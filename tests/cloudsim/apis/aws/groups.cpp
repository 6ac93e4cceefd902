#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/aws/ec2.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

/// Returns one rule for each protocol, port range and source, as EC2 compares them.
std::vector<Json> rules_of(const Params& params) {
  std::vector<Json> out;
  for (const Params& each : params.structures("IpPermissions")) {
    Json rule = {{"ipProtocol", each.get("IpProtocol")}};
    if (rule.at("ipProtocol") != "-1") {
      rule["fromPort"] = each.number("FromPort", -1);
      rule["toPort"] = each.number("ToPort", -1);
    }
    for (const Params& range : each.structures("IpRanges")) {
      Json one = rule;
      one["ipRanges"] = {{{"cidrIp", range.get("CidrIp")}}};
      out.push_back(one);
    }
    for (const Params& group : each.structures("Groups")) {
      Json one = rule;
      one["groups"] = {{{"groupId", group.get("GroupId")}}};
      out.push_back(one);
    }
  }
  if (out.empty())
    throw ProtocolViolation(400, "MissingParameter",
                            "The request must contain the parameter ipPermissions");
  return out;
}

Json shape_group(const Ec2Call& call, const Resource& group) {
  return {{"ownerId", call.scope.account},
          {"groupId", group.id},
          {"groupName", group.name},
          {"groupDescription", group.data.at("description")},
          {"vpcId", group.data.at("vpc")},
          {"ipPermissions", group.data.at("ingress")},
          {"ipPermissionsEgress", group.data.at("egress")},
          {"tagSet", tag_set(group.tags)}};
}

Facts group_facts(const Resource& group) {
  return {{"group-id", {group.id}},
          {"group-name", {group.name}},
          {"vpc-id", {group.data.at("vpc")}},
          {"description", {group.data.at("description")}}};
}

Json create_group(const Ec2Call& call) {
  const Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  const std::string name = call.params.get("GroupName");
  for (const Resource* other : call.world.resources_of(call.scope, "group"))
    if (other->name == name && other->data.at("vpc") == vpc.id)
      throw Refusal(400, "InvalidGroup.Duplicate",
                    "The security group '" + name + "' already exists for VPC '" + vpc.id + "'");
  stop_if_dry_run(call.params);
  Resource& made = call.world.add(call.scope, "group", call.world.new_id("sg-", 17));
  made.name = name;
  made.uses = {vpc.id};
  made.tags = tags_for(call.params, "security-group");
  made.data = {{"vpc", vpc.id},
               {"description", call.params.get("GroupDescription")},
               {"ingress", Json::array()},
               {"egress", {{{"ipProtocol", "-1"}, {"ipRanges", {{{"cidrIp", "0.0.0.0/0"}}}}}}}};
  Json out = ok();
  out.update({{"groupId", made.id}, {"tagSet", tag_set(made.tags)}});
  return out;
}

Json describe_groups(const Ec2Call& call) {
  return describe(call, "group", "GroupId", "securityGroupInfo", group_facts, shape_group);
}

Json delete_group(const Ec2Call& call) {
  Resource& group = resource(call, "group", call.params.get("GroupId"));
  if (!group.part_of.empty())
    throw Refusal(
        400, "CannotDelete",
        "the specified group: \"" + group.id + "\" name: \"default\" cannot be deleted by a user");
  stop_if_dry_run(call.params);
  for (const Resource* other : call.world.resources_of(call.scope, "group")) {
    if (other->id == group.id) continue;
    const std::string rules = other->data.dump();
    if (rules.find(group.id) != std::string::npos)
      throw ApiFailure(ApiFailureKind::in_use, group.id,
                       "resource " + group.id + " has a dependent object");
  }
  call.world.remove(group);
  return ok();
}

Json authorize(const Ec2Call& call, const char* direction) {
  Resource& group = resource(call, "group", call.params.get("GroupId"));
  Json& rules = group.data[direction];
  for (const Json& rule : rules_of(call.params)) {
    if (rule.contains("groups")) resource(call, "group", rule.at("groups")[0].at("groupId"));
    if (contains(rules, rule))
      throw Refusal(400, "InvalidPermission.Duplicate",
                    "the specified rule already exists in " + group.id);
    rules.push_back(rule);
  }
  return ok();
}

Json revoke(const Ec2Call& call, const char* direction) {
  Resource& group = resource(call, "group", call.params.get("GroupId"));
  Json& rules = group.data[direction];
  for (const Json& rule : rules_of(call.params)) {
    const auto found = std::ranges::find(rules, rule);
    if (found == rules.end())
      throw Refusal(400, "InvalidPermission.NotFound",
                    "The specified rule does not exist in this security group.");
    rules.erase(found);
  }
  return ok();
}

Json authorize_ingress(const Ec2Call& call) {
  return authorize(call, "ingress");
}
Json authorize_egress(const Ec2Call& call) {
  return authorize(call, "egress");
}
Json revoke_ingress(const Ec2Call& call) {
  return revoke(call, "ingress");
}
Json revoke_egress(const Ec2Call& call) {
  return revoke(call, "egress");
}

constexpr Ec2Action kGroupsActions[] = {
    {"CreateSecurityGroup", "GroupName! GroupDescription! VpcId! TagSpecification", create_group},
    {"DescribeSecurityGroups",
     "GroupId Filter:group-id,group-name,vpc-id,description MaxResults NextToken", describe_groups},
    {"DeleteSecurityGroup", "GroupId!", delete_group},
    {"AuthorizeSecurityGroupIngress", "GroupId! IpPermissions!", authorize_ingress},
    {"AuthorizeSecurityGroupEgress", "GroupId! IpPermissions!", authorize_egress},
    {"RevokeSecurityGroupIngress", "GroupId! IpPermissions!", revoke_ingress},
    {"RevokeSecurityGroupEgress", "GroupId! IpPermissions!", revoke_egress},
};

}  // namespace

std::span<const Ec2Action> group_actions() {
  return kGroupsActions;
}

}  // namespace fastgpu::cloudsim::aws
