#include <algorithm>

#include "cloudsim/apis/huawei/call.hpp"
#include "cloudsim/world/cidr.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

Json shape_group(const Resource& group) {
  return {{"id", group.id},
          {"name", group.name},
          {"description", ""},
          {"vpc_id", ""},
          {"security_group_rules", group.data.at("rules")}};
}

Json& add_rule(SimulatedWorld& world, Resource& group, Json rule) {
  rule["id"] = new_uuid(world);
  rule["security_group_id"] = group.id;
  group.data["rules"].push_back(std::move(rule));
  return group.data["rules"].back();
}

/// Creates a group. It allows all outgoing traffic, and incoming traffic from itself.
Answered create_group(const HuaweiCall& call) {
  const Json& request = call.body.at("security_group");
  const std::string name = request.at("name");
  if (name.empty() || name.size() > 64)
    throw ProtocolViolation(400, "VPC.0601", "a name has 1 to 64 bytes");
  Resource& made = call.world.add(call.scope, "group", new_uuid(call.world));
  made.name = name;
  made.data = {{"rules", Json::array()}};
  for (const char* type : {"IPv4", "IPv6"}) {
    add_rule(call.world, made, {{"direction", "egress"}, {"ethertype", type}});
    add_rule(call.world, made,
             {{"direction", "ingress"}, {"ethertype", type}, {"remote_group_id", made.id}});
  }
  return {200, {{"security_group", shape_group(made)}}};
}

Answered list_groups(const HuaweiCall& call) {
  std::vector<Json> groups;
  for (const Resource* each : call.world.resources_of(call.scope, "group"))
    groups.push_back(shape_group(*each));
  return {200, marked_page(call, "security_groups", groups)};
}

Answered show_group(const HuaweiCall& call) {
  const Resource& group = resource(call, "group", call.path.at("security_group_id"));
  return {200, {{"security_group", shape_group(group)}}};
}

Answered delete_group(const HuaweiCall& call) {
  call.world.remove(resource(call, "group", call.path.at("security_group_id")));
  return {204, {}};
}

void check_rule(const HuaweiCall& call, const Json& rule) {
  const std::string direction = rule.at("direction");
  if (direction != "ingress" && direction != "egress")
    throw ProtocolViolation(400, "VPC.0601", "direction is ingress or egress");
  if (rule.contains("remote_ip_prefix") && rule.contains("remote_group_id"))
    throw ProtocolViolation(400, "VPC.0601", "a rule has a range or a group, not both");
  if (rule.contains("remote_ip_prefix") &&
      !parse_cidr(rule.at("remote_ip_prefix").get<std::string>(), 0, 32))
    throw Refusal(400, "VPC.0601", "remote_ip_prefix is no CIDR");
  if (rule.contains("remote_group_id")) resource(call, "group", rule.at("remote_group_id"));
}

Answered create_rule(const HuaweiCall& call) {
  Json rule = call.body.at("security_group_rule");
  Resource& group = resource(call, "group", rule.at("security_group_id"));
  check_rule(call, rule);
  const bool is_there = std::ranges::any_of(group.data.at("rules"), [&](Json other) {
    other.erase("id");
    return other == rule || nlohmann::json(other) == nlohmann::json(rule);
  });
  if (is_there) throw Refusal(409, "VPC.0608", "The security group rule exists already.");
  return {200, {{"security_group_rule", add_rule(call.world, group, std::move(rule))}}};
}

Answered list_rules(const HuaweiCall& call) {
  std::vector<Json> rules;
  for (const Resource* each : call.world.resources_of(call.scope, "group"))
    if (call.asked("security_group_id", each->id) == each->id)
      for (const Json& rule : each->data.at("rules"))
        rules.push_back(rule);
  return {200, marked_page(call, "security_group_rules", rules)};
}

Answered delete_rule(const HuaweiCall& call) {
  const std::string& id = call.path.at("security_group_rule_id");
  for (Resource* group : call.world.resources_of(call.scope, "group")) {
    Json& rules = group->data["rules"];
    const auto found =
        std::ranges::find_if(rules, [&](const Json& rule) { return rule["id"] == id; });
    if (found == rules.end()) continue;
    rules.erase(found);
    return {204, {}};
  }
  throw Refusal(404, "VPC.0614", "Security group rule " + id + " could not be found.");
}

constexpr HuaweiAction kGroupsActions[] = {
    {"vpc", "CreateSecurityGroup", "POST", "/v1/{project_id}/security-groups", "", create_group},
    {"vpc", "ListSecurityGroups", "GET", "/v1/{project_id}/security-groups", "", list_groups},
    {"vpc", "ShowSecurityGroup", "GET", "/v1/{project_id}/security-groups/{security_group_id}", "",
     show_group},
    {"vpc", "DeleteSecurityGroup", "DELETE", "/v1/{project_id}/security-groups/{security_group_id}",
     "", delete_group},
    {"vpc", "CreateSecurityGroupRule", "POST", "/v1/{project_id}/security-group-rules", "",
     create_rule},
    {"vpc", "ListSecurityGroupRules", "GET", "/v1/{project_id}/security-group-rules", "",
     list_rules},
    {"vpc", "DeleteSecurityGroupRule", "DELETE",
     "/v1/{project_id}/security-group-rules/{security_group_rule_id}", "", delete_rule},
};

}  // namespace

std::span<const HuaweiAction> group_actions() {
  return kGroupsActions;
}

}  // namespace fastgpu::cloudsim::huawei
