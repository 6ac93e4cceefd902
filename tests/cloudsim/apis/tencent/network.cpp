#include "cloudsim/world/cidr.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/tencent/call.hpp"
#include "cloudsim/ledger.hpp"

namespace fastgpu::cloudsim::tencent {
namespace {

Cidr range_of(const std::string& text) {
  const auto range = parse_cidr(text, 12, 28);
  if (!range) throw refusal("InvalidParameterValue.Malformed", "`" + text + "` is no CIDR.");
  return *range;
}

Json shape_vpc(const Resource& vpc) {
  return {{"VpcId", vpc.id},
          {"VpcName", vpc.name},
          {"CidrBlock", vpc.data.at("cidr")},
          {"IsDefault", false},
          {"CreatedTime", iso_time(vpc.created)},
          {"TagSet", tag_list(vpc.tags)}};
}

Json create_vpc(const TencentCall& call) {
  const std::string cidr = call.text("CidrBlock");
  const Cidr range = range_of(cidr);
  const bool allowed = std::ranges::any_of(
      std::vector<std::string>{"10.0.0.0/12", "172.16.0.0/12", "192.168.0.0/16"},
      [&](const std::string& whole) { return parse_cidr(whole, 0, 32)->holds(range); });
  if (!allowed)
    throw refusal("InvalidParameterValue.VpcCidr",
                  "A VPC lies in 10.0.0.0/12, 172.16.0.0/12 or 192.168.0.0/16.");
  const auto limit = call.catalogue().quota(call.scope.region, "vpcs");
  if (limit && double(call.world.resources_of(call.scope, "vpc").size()) >= *limit)
    throw refusal("LimitExceeded", "The account has as many VPCs as it may.");
  Resource& made = call.world.add(call.scope, "vpc", call.world.new_id("vpc-", 8));
  made.name = call.text("VpcName");
  made.data = {{"cidr", cidr}};
  made.tags = read_tags(call.body.value("Tags", Json::array()));
  return {{"Vpc", shape_vpc(made)}};
}

bool named(const std::vector<std::string>& ids, const std::string& id) {
  return ids.empty() || contains(ids, id);
}

/// Returns the resources of a kind that the ids and filters select.
std::vector<const Resource*> selected(const TencentCall& call, const char* kind,
                                      const char* ids_parameter, Facts (*facts)(const Resource&)) {
  check_one_of(call, ids_parameter);
  const std::vector<std::string> ids = call.list(ids_parameter);
  for (const std::string& id : ids)
    resource(call, kind, id);
  std::vector<const Resource*> found;
  for (const Resource* each : call.world.resources_of(call.scope, kind))
    if (named(ids, each->id) && passes(call, facts(*each), each->tags)) found.push_back(each);
  return found;
}

Facts vpc_facts(const Resource& vpc) {
  return {{"vpc-name", {vpc.name}},
          {"vpc-id", {vpc.id}},
          {"cidr-block", {vpc.data.at("cidr")}},
          {"is-default", {"false"}}};
}

Json describe_vpcs(const TencentCall& call) {
  std::vector<Json> items;
  for (const Resource* each : selected(call, "vpc", "VpcIds", vpc_facts))
    items.push_back(shape_vpc(*each));
  return paged(call, "VpcSet", items, Numbers::text);
}

Json delete_vpc(const TencentCall& call) {
  call.world.remove(resource(call, "vpc", call.text("VpcId")));
  return Json::object();
}

Json shape_subnet(const TencentCall& call, const Resource& subnet) {
  return {{"VpcId", subnet.data.at("vpc")},
          {"SubnetId", subnet.id},
          {"SubnetName", subnet.name},
          {"CidrBlock", subnet.data.at("cidr")},
          {"IsDefault", false},
          {"Zone", subnet.data.at("zone")},
          {"CreatedTime", iso_time(subnet.created)},
          {"AvailableIpAddressCount", call.world.free_addresses(subnet)},
          {"TagSet", tag_list(subnet.tags)}};
}

Json create_subnet(const TencentCall& call) {
  const Resource& vpc = resource(call, "vpc", call.text("VpcId"));
  const std::string cidr = call.text("CidrBlock");
  const std::string zone = call.text("Zone");
  const Cidr range = range_of(cidr);
  if (!call.catalogue().has_zone(call.scope.region, zone))
    throw refusal("InvalidParameterValue", "The zone `" + zone + "` does not exist.");
  if (!range_of(vpc.data.at("cidr")).holds(range))
    throw refusal("InvalidParameterValue.SubnetRange", "The subnet is not inside its VPC.");
  for (const Resource* other : call.world.resources_of(call.scope, "subnet"))
    if (other->data.at("vpc") == vpc.id && range_of(other->data.at("cidr")).overlaps(range))
      throw refusal("InvalidParameterValue.SubnetConflict", "The subnet overlaps " + other->id);
  Resource& made = call.world.add(call.scope, "subnet", call.world.new_id("subnet-", 8));
  made.name = call.text("SubnetName");
  made.uses = {vpc.id};
  made.data = {{"vpc", vpc.id}, {"cidr", cidr}, {"zone", zone}};
  made.tags = read_tags(call.body.value("Tags", Json::array()));
  return {{"Subnet", shape_subnet(call, made)}};
}

Facts subnet_facts(const Resource& subnet) {
  return {{"subnet-name", {subnet.name}},
          {"subnet-id", {subnet.id}},
          {"vpc-id", {subnet.data.at("vpc")}},
          {"cidr-block", {subnet.data.at("cidr")}},
          {"zone", {subnet.data.at("zone")}}};
}

Json describe_subnets(const TencentCall& call) {
  std::vector<Json> items;
  for (const Resource* each : selected(call, "subnet", "SubnetIds", subnet_facts))
    items.push_back(shape_subnet(call, *each));
  return paged(call, "SubnetSet", items, Numbers::text);
}

Json delete_subnet(const TencentCall& call) {
  call.world.remove(resource(call, "subnet", call.text("SubnetId")));
  return Json::object();
}

constexpr TencentAction kNetworkActions[] = {
    {"vpc", "CreateVpc", "VpcName! CidrBlock! EnableMulticast DnsServers DomainName Tags",
     create_vpc},
    {"vpc", "DescribeVpcs", "VpcIds Filters:vpc-name,vpc-id,cidr-block,is-default Offset Limit",
     describe_vpcs},
    {"vpc", "DeleteVpc", "VpcId!", delete_vpc},
    {"vpc", "CreateSubnet", "VpcId! SubnetName! CidrBlock! Zone! Tags", create_subnet},
    {"vpc", "DescribeSubnets",
     "SubnetIds Filters:subnet-name,subnet-id,vpc-id,cidr-block,zone Offset Limit",
     describe_subnets},
    {"vpc", "DeleteSubnet", "SubnetId!", delete_subnet},
};

}  // namespace

std::span<const TencentAction> network_actions() {
  return kNetworkActions;
}

}  // namespace fastgpu::cloudsim::tencent
