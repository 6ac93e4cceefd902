#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/auth/signature.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

Json create_group(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "group")) return {{"SecurityGroupId", before->id}};
  const Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  const std::string type = call.params.get("SecurityGroupType", "normal");
  if (type != "normal" && type != "enterprise")
    throw ProtocolViolation(400, "InvalidSecurityGroupType.ValueNotSupported", type + " is none.");
  Resource& made = call.world.add(call.scope, "group", call.world.new_id("sg-", 20));
  made.name = call.params.get("SecurityGroupName");
  made.uses = {vpc.id};
  made.tags = read_tags(call.params);
  made.data = {{"vpc", vpc.id},
               {"type", type},
               {"description", call.params.get("Description")},
               {"token", call.params.get("ClientToken")},
               {"rules", Json::array()}};
  return {{"SecurityGroupId", made.id}};
}

Json describe_groups(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "group"))
    if (call.params.get("SecurityGroupId", each->id) == each->id &&
        call.params.get("SecurityGroupName", each->name) == each->name &&
        call.params.get("VpcId", each->data.at("vpc")) == each->data.at("vpc") &&
        passes_tags(call.params, each->tags))
      items.push_back({{"SecurityGroupId", each->id},
                       {"SecurityGroupName", each->name},
                       {"SecurityGroupType", each->data.at("type")},
                       {"Description", each->data.at("description")},
                       {"VpcId", each->data.at("vpc")},
                       {"CreationTime", iso_time(each->created)},
                       {"Tags", ecs_tags(each->tags)}});
  return paged(call, "SecurityGroups", "SecurityGroup", items, 100);
}

Json describe_group(const AlibabaCall& call) {
  const Resource& group = resource(call, "group", call.params.get("SecurityGroupId"));
  return {
      {"SecurityGroupId", group.id},   {"SecurityGroupName", group.name},
      {"VpcId", group.data.at("vpc")}, {"RegionId", call.scope.region},
      {"InnerAccessPolicy", "Accept"}, {"Permissions", {{"Permission", group.data.at("rules")}}}};
}

void check_ports(const std::string& protocol, const std::string& ports) {
  const auto both = split(ports, '/');
  const bool is_any = ports == "-1/-1";
  const bool needs_any = protocol != "TCP" && protocol != "UDP";
  if (both.size() != 2 || is_any != needs_any)
    throw ProtocolViolation(400, "InvalidPortRange.Malformed",
                            ports + " does not go with " + protocol);
}

Json read_rule(const AlibabaCall& call, const Params& params) {
  const std::string protocol = params.get("IpProtocol");
  const std::vector<std::string> known = {"TCP", "UDP", "ICMP", "GRE", "ALL"};
  if (!contains(known, protocol))
    throw ProtocolViolation(400, "InvalidIpProtocol.ValueNotSupported", protocol + " is none.");
  check_ports(protocol, params.get("PortRange"));
  const std::string group = params.get("SourceGroupId");
  const std::string range = params.get("SourceCidrIp");
  if (group.empty() == range.empty())
    throw ProtocolViolation(400, "InvalidParameter.Source",
                            "One source is needed, a range or a group.");
  if (!group.empty()) resource(call, "group", group);
  return {{"IpProtocol", protocol},
          {"PortRange", params.get("PortRange")},
          {"SourceGroupId", group},
          {"SourceCidrIp", range},
          {"Policy", params.get("Policy", "accept")},
          {"Priority", params.get("Priority", "1")},
          {"Direction", "ingress"},
          {"NicType", "intranet"}};
}

/// Adds rules. An existing rule is neither added again nor an error.
Json authorize(const AlibabaCall& call) {
  Resource& group = resource(call, "group", call.params.get("SecurityGroupId"));
  const auto permissions = call.params.structures("Permissions");
  if (permissions.empty() || permissions.size() > 100)
    throw ProtocolViolation(400, "InvalidPermissions.CountExceed", "Permissions.N are 1 to 100.");
  Json& rules = group.data["rules"];
  for (const Params& each : permissions) {
    const Json rule = read_rule(call, each);
    if (!contains(rules, rule)) rules.push_back(rule);
  }
  return Json::object();
}

Json revoke(const AlibabaCall& call) {
  Resource& group = resource(call, "group", call.params.get("SecurityGroupId"));
  Json& rules = group.data["rules"];
  for (const Params& each : call.params.structures("Permissions")) {
    const auto found = std::ranges::find(rules, read_rule(call, each));
    if (found != rules.end()) rules.erase(found);
  }
  return Json::object();
}

Json delete_group(const AlibabaCall& call) {
  Resource& group = resource(call, "group", call.params.get("SecurityGroupId"));
  for (const Resource* other : call.world.resources_of(call.scope, "group"))
    if (other->id != group.id && other->data.dump().find(group.id) != std::string::npos)
      throw ApiFailure(ApiFailureKind::in_use, group.id, other->id + " names it in a rule");
  call.world.remove(group);
  return Json::object();
}

constexpr AlibabaAction kGroupsActions[] = {
    {"ecs", "CreateSecurityGroup",
     "RegionId! VpcId! SecurityGroupName SecurityGroupType Description ClientToken Tag",
     create_group},
    {"ecs", "DescribeSecurityGroups",
     "RegionId! SecurityGroupId SecurityGroupName VpcId Tag MaxResults NextToken PageNumber "
     "PageSize",
     describe_groups},
    {"ecs", "DescribeSecurityGroupAttribute", "RegionId! SecurityGroupId! Direction NicType",
     describe_group},
    {"ecs", "AuthorizeSecurityGroup", "RegionId! SecurityGroupId! Permissions! ClientToken",
     authorize},
    {"ecs", "RevokeSecurityGroup", "RegionId! SecurityGroupId! Permissions! ClientToken", revoke},
    {"ecs", "DeleteSecurityGroup", "RegionId! SecurityGroupId!", delete_group},
};

}  // namespace

std::span<const AlibabaAction> group_actions() {
  return kGroupsActions;
}

}  // namespace fastgpu::cloudsim::alibaba
