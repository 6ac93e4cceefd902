#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/world/cidr.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

/// Parses a range from "a.b.c.d/16" to "/28". Throws InvalidVpc.Range for others.
Cidr range_of(const std::string& text) {
  const auto range = parse_cidr(text, 16, 28);
  if (!range) throw Refusal(400, "InvalidVpc.Range", "The CIDR '" + text + "' is invalid.");
  return *range;
}

Json shape_vpc(const Ec2Call&, const Resource& vpc) {
  return {{"vpcId", vpc.id},    {"state", "available"},         {"cidrBlock", vpc.data.at("cidr")},
          {"isDefault", false}, {"instanceTenancy", "default"}, {"tagSet", tag_set(vpc.tags)}};
}

Facts vpc_facts(const Resource& vpc) {
  return {{"vpc-id", {vpc.id}},
          {"state", {"available"}},
          {"cidr", {vpc.data.at("cidr")}},
          {"cidr-block-association.cidr-block", {vpc.data.at("cidr")}},
          {"is-default", {"false"}},
          {"isDefault", {"false"}}};
}

/// Adds a part that every network has from its creation: a default group, a main route table.
Resource& born_with(const Ec2Call& call, const Resource& vpc, const std::string& kind,
                    const std::string& prefix) {
  Resource& part = call.world.add(call.scope, kind, call.world.new_id(prefix, 17));
  part.part_of = vpc.id;
  part.uses = {vpc.id};
  part.data = {{"vpc", vpc.id}};
  return part;
}

Json create_vpc(const Ec2Call& call) {
  const std::string cidr = call.params.get("CidrBlock");
  range_of(cidr);
  const auto limit = call.catalogue().quota(call.scope.region, "vpcs");
  if (limit && double(call.world.resources_of(call.scope, "vpc").size()) >= *limit)
    throw Refusal(400, "VpcLimitExceeded", "The maximum number of VPCs has been reached.");
  stop_if_dry_run(call.params);
  Resource& vpc = call.world.add(call.scope, "vpc", call.world.new_id("vpc-", 17));
  vpc.data = {{"cidr", cidr}};
  vpc.tags = tags_for(call.params, "vpc");
  Resource& group = born_with(call, vpc, "group", "sg-");
  group.name = "default";
  group.data.update(
      {{"description", "default VPC security group"},
       {"ingress", {{{"ipProtocol", "-1"}, {"groups", {{{"groupId", group.id}}}}}}},
       {"egress", {{{"ipProtocol", "-1"}, {"ipRanges", {{{"cidrIp", "0.0.0.0/0"}}}}}}}});
  Resource& table = born_with(call, vpc, "route-table", "rtb-");
  table.data.update({{"main", true},
                     {"associations", Json::array()},
                     {"routes", {{{"destination", cidr}, {"gateway", "local"}}}}});
  return {{"vpc", shape_vpc(call, vpc)}};
}

Json describe_vpcs(const Ec2Call& call) {
  return describe(call, "vpc", "VpcId", "vpcSet", vpc_facts, shape_vpc);
}

/// Deletes the resource that a parameter names.
Json delete_named(const Ec2Call& call, const std::string& kind, const std::string& id_parameter) {
  Resource& named = resource(call, kind, call.params.get(id_parameter));
  stop_if_dry_run(call.params);
  call.world.remove(named);
  return ok();
}

Json delete_vpc(const Ec2Call& call) {
  return delete_named(call, "vpc", "VpcId");
}

Json modify_vpc(const Ec2Call& call) {
  Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  if (call.params.find("EnableDnsHostnames.Value"))
    vpc.data["dns_hostnames"] = call.params.flag("EnableDnsHostnames.Value");
  if (call.params.find("EnableDnsSupport.Value"))
    vpc.data["dns_support"] = call.params.flag("EnableDnsSupport.Value");
  return ok();
}

Json shape_subnet(const Ec2Call& call, const Resource& subnet) {
  return {{"subnetId", subnet.id},
          {"state", "available"},
          {"vpcId", subnet.data.at("vpc")},
          {"cidrBlock", subnet.data.at("cidr")},
          {"availableIpAddressCount", call.world.free_addresses(subnet)},
          {"availabilityZone", subnet.data.at("zone")},
          {"defaultForAz", false},
          {"mapPublicIpOnLaunch", subnet.data.at("public")},
          {"tagSet", tag_set(subnet.tags)}};
}

Facts subnet_facts(const Resource& subnet) {
  return {{"subnet-id", {subnet.id}},
          {"vpc-id", {subnet.data.at("vpc")}},
          {"cidr-block", {subnet.data.at("cidr")}},
          {"availability-zone", {subnet.data.at("zone")}},
          {"state", {"available"}}};
}

Json create_subnet(const Ec2Call& call) {
  const Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  const std::string text = call.params.get("CidrBlock");
  const Cidr cidr = range_of(text);
  const auto& zones = call.catalogue().regions.at(call.scope.region);
  const std::string zone = call.params.get("AvailabilityZone", zones.front());
  if (!call.catalogue().has_zone(call.scope.region, zone))
    throw Refusal(400, "InvalidParameterValue",
                  "Value (" + zone + ") for parameter availabilityZone is invalid.");
  if (!range_of(vpc.data.at("cidr")).holds(cidr))
    throw Refusal(400, "InvalidSubnet.Range", "The CIDR '" + text + "' is invalid.");
  for (const Resource* other : call.world.resources_of(call.scope, "subnet")) {
    const Cidr theirs = range_of(other->data.at("cidr"));
    if (other->data.at("vpc") == vpc.id && theirs.overlaps(cidr))
      throw Refusal(400, "InvalidSubnet.Conflict",
                    "The CIDR '" + text + "' conflicts with another subnet");
  }
  stop_if_dry_run(call.params);
  Resource& subnet = call.world.add(call.scope, "subnet", call.world.new_id("subnet-", 17));
  subnet.uses = {vpc.id};
  subnet.data = {{"vpc", vpc.id}, {"cidr", text}, {"zone", zone}, {"public", false}};
  subnet.tags = tags_for(call.params, "subnet");
  return {{"subnet", shape_subnet(call, subnet)}};
}

Json describe_subnets(const Ec2Call& call) {
  return describe(call, "subnet", "SubnetId", "subnetSet", subnet_facts, shape_subnet);
}

Json delete_subnet(const Ec2Call& call) {
  return delete_named(call, "subnet", "SubnetId");
}

Json modify_subnet(const Ec2Call& call) {
  Resource& subnet = resource(call, "subnet", call.params.get("SubnetId"));
  if (call.params.find("MapPublicIpOnLaunch.Value"))
    subnet.data["public"] = call.params.flag("MapPublicIpOnLaunch.Value");
  return ok();
}

constexpr Ec2Action kNetworkActions[] = {
    {"CreateVpc", "CidrBlock! InstanceTenancy TagSpecification", create_vpc},
    {"DescribeVpcs",
     "VpcId Filter:vpc-id,state,cidr,cidr-block-association.cidr-block,is-default,isDefault "
     "MaxResults NextToken",
     describe_vpcs},
    {"DeleteVpc", "VpcId!", delete_vpc},
    {"ModifyVpcAttribute", "VpcId! EnableDnsHostnames EnableDnsSupport", modify_vpc},
    {"CreateSubnet", "VpcId! CidrBlock! AvailabilityZone TagSpecification", create_subnet},
    {"DescribeSubnets",
     "SubnetId Filter:subnet-id,vpc-id,cidr-block,availability-zone,state MaxResults NextToken",
     describe_subnets},
    {"DeleteSubnet", "SubnetId!", delete_subnet},
    {"ModifySubnetAttribute", "SubnetId! MapPublicIpOnLaunch", modify_subnet},
};

}  // namespace

std::span<const Ec2Action> network_actions() {
  return kNetworkActions;
}

}  // namespace fastgpu::cloudsim::aws
