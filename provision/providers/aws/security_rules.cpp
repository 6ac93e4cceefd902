#include "provision/providers/aws/security_rules.hpp"

#include "provision/cloud/range_texts.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::NetworkRequest;

bool allows(const pugi::xml_node& group, const std::string& protocol, const std::string& source,
            const char* rules = "ipPermissions") {
  for (const pugi::xml_node& rule : items(group, rules)) {
    if (rule.child_value("ipProtocol") != protocol) continue;
    for (const pugi::xml_node& range : items(rule, "ipRanges"))
      if (range.child_value("cidrIp") == source) return true;
    for (const pugi::xml_node& other : items(rule, "groups"))
      if (other.child_value("groupId") == source) return true;
  }
  return false;
}

/// Adds rule number `n`: SSH from the range.
void add_ssh_rule(Parameters& rules, int n, const IpRange& range) {
  const std::string rule = "IpPermissions." + std::to_string(n) + ".";
  rules.insert(rules.end(), {{rule + "IpProtocol", "tcp"},
                             {rule + "FromPort", "22"},
                             {rule + "ToPort", "22"},
                             {rule + "IpRanges.1.CidrIp", range.text()}});
}

/// Returns the rules that the group lacks: SSH from the requested addresses, and all traffic
/// between the cluster's machines. `group` is empty for a new group.
Parameters missing_rules(const pugi::xml_node& group, const std::string& id,
                         const NetworkRequest& request) {
  Parameters rules;
  int n = 0;
  const auto rule = [&](const std::string& name, const std::string& value) {
    rules.emplace_back("IpPermissions." + std::to_string(n) + "." + name, value);
  };
  if (!allows(group, "-1", id)) {
    ++n;
    rule("IpProtocol", "-1");
    rule("Groups.1.GroupId", id);
  }
  for (const IpRange& range : request.ssh_from) {
    if (!allows(group, "tcp", range.text())) add_ssh_rule(rules, ++n, range);
  }
  return rules;
}

}  // namespace

void add_open_ranges(const pugi::xml_node& group, std::vector<IpRange>& ranges) {
  for (const pugi::xml_node& rule : items(group, "ipPermissions")) {
    if (std::string_view(rule.child_value("ipProtocol")) != "tcp") continue;
    for (const pugi::xml_node& range : items(rule, "ipRanges"))
      cloud::add_range(ranges, range.child_value("cidrIp"));
  }
}

void close_group(Network& network, const pugi::xml_node& group, const NetworkRequest& request) {
  Parameters rules = {{"GroupId", group.child_value(kGroup.id)}};
  int n = 0;
  for (const IpRange& range : request.ssh_from)
    if (allows(group, "tcp", range.text())) add_ssh_rule(rules, ++n, range);
  if (n > 0) network.remove("RevokeSecurityGroupIngress", rules, "closing the security group");
}

void open_group(Network& network, const pugi::xml_node& group, const std::string& id,
                const NetworkRequest& request) {
  if (Parameters rules = missing_rules(group, id, request); !rules.empty()) {
    rules.emplace_back("GroupId", id);
    network.arrange("AuthorizeSecurityGroupIngress", rules, "opening the security group");
  }
  // The elastic fabric adapter also needs a rule for outgoing traffic to the group.
  if (request.close_together && !allows(group, "-1", id, "ipPermissionsEgress"))
    network.arrange("AuthorizeSecurityGroupEgress",
                    {{"GroupId", id},
                     {"IpPermissions.1.IpProtocol", "-1"},
                     {"IpPermissions.1.Groups.1.GroupId", id}},
                    "opening the security group");
}

}  // namespace fastgpu::provision::aws
