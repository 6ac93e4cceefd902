#include "cloudsim/apis/alibaba/call.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/world/cidr.hpp"

namespace fastgpu::cloudsim::alibaba {
namespace {

constexpr int kLargestPage = 50;

Cidr range_of(const std::string& text, int least, int most) {
  const auto range = parse_cidr(text, least, most);
  if (!range) throw Refusal(400, "InvalidCidrBlock.Malformed", text + " is no such range.");
  return *range;
}

Json shape_vpc(const AlibabaCall& call, const Resource& vpc) {
  Json vswitches = Json::array();
  for (const Resource* each : call.world.resources_of(call.scope, "subnet"))
    if (each->data.at("vpc") == vpc.id) vswitches.push_back(each->id);
  return {{"VpcId", vpc.id},
          {"VpcName", vpc.name},
          {"RegionId", call.scope.region},
          {"Status", is_available(call.world, vpc) ? "Available" : "Pending"},
          {"CidrBlock", vpc.data.at("cidr")},
          {"CreationTime", iso_time(vpc.created)},
          {"IsDefault", false},
          {"VSwitchIds", {{"VSwitchId", vswitches}}},
          {"Tags", vpc_tags(vpc.tags)}};
}

Json create_vpc(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "vpc")) return {{"VpcId", before->id}};
  const std::string cidr = call.params.get("CidrBlock", "172.16.0.0/12");
  range_of(cidr, 8, 28);
  const auto limit = call.catalogue().quota(call.scope.region, "vpcs");
  if (limit && double(call.world.resources_of(call.scope, "vpc").size()) >= *limit)
    throw Refusal(400, "QuotaExceeded.Vpc", "The quota of VPCs is used up.");
  Resource& vpc = call.world.add(call.scope, "vpc", call.world.new_id("vpc-", 21));
  vpc.name = call.params.get("VpcName");
  vpc.tags = read_tags(call.params);
  vpc.data = {{"cidr", cidr}, {"token", call.params.get("ClientToken")}};
  return {{"VpcId", vpc.id}, {"VRouterId", call.world.new_id("vrt-", 21)}};
}

Json describe_vpcs(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "vpc"))
    if (call.params.get("VpcId", each->id) == each->id &&
        call.params.get("VpcName", each->name) == each->name &&
        passes_tags(call.params, each->tags))
      items.push_back(shape_vpc(call, *each));
  return paged(call, "Vpcs", "Vpc", items, kLargestPage);
}

Json remove(const AlibabaCall& call, const std::string& kind, const char* parameter) {
  call.world.remove(resource(call, kind, call.params.get(parameter)));
  return Json::object();
}

Json delete_vpc(const AlibabaCall& call) {
  return remove(call, "vpc", "VpcId");
}

Json shape_vswitch(const AlibabaCall& call, const Resource& each) {
  return {{"VSwitchId", each.id},
          {"VSwitchName", each.name},
          {"VpcId", each.data.at("vpc")},
          {"ZoneId", each.data.at("zone")},
          {"CidrBlock", each.data.at("cidr")},
          {"Status", is_available(call.world, each) ? "Available" : "Pending"},
          {"AvailableIpAddressCount", call.world.free_addresses(each)},
          {"CreationTime", iso_time(each.created)},
          {"IsDefault", false},
          {"Tags", vpc_tags(each.tags)}};
}

Json create_vswitch(const AlibabaCall& call) {
  if (const Resource* before = made_before(call, "subnet")) return {{"VSwitchId", before->id}};
  const Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  if (!is_available(call.world, vpc))
    throw Refusal(400, "IncorrectVpcStatus", "The current status of the VPC is Pending.");
  const std::string text = call.params.get("CidrBlock");
  const std::string zone = call.params.get("ZoneId");
  const Cidr cidr = range_of(text, 16, 29);
  if (!call.catalogue().has_zone(call.scope.region, zone))
    throw Refusal(404, "InvalidZoneId.NotFound", "The specified zone " + zone + " is not found.");
  if (!range_of(vpc.data.at("cidr"), 8, 28).holds(cidr))
    throw Refusal(400, "InvalidCidrBlock.Mismatch", text + " is not in the VPC's range.");
  for (const Resource* other : call.world.resources_of(call.scope, "subnet"))
    if (other->data.at("vpc") == vpc.id && range_of(other->data.at("cidr"), 16, 29).overlaps(cidr))
      throw Refusal(400, "InvalidCidrBlock.Overlapped", text + " overlaps with " + other->id + ".");
  Resource& made = call.world.add(call.scope, "subnet", call.world.new_id("vsw-", 21));
  made.name = call.params.get("VSwitchName");
  made.tags = read_tags(call.params);
  made.uses = {vpc.id};
  made.data = {
      {"vpc", vpc.id}, {"cidr", text}, {"zone", zone}, {"token", call.params.get("ClientToken")}};
  return {{"VSwitchId", made.id}};
}

Json describe_vswitches(const AlibabaCall& call) {
  std::vector<Json> items;
  for (const Resource* each : call.world.resources_of(call.scope, "subnet"))
    if (call.params.get("VSwitchId", each->id) == each->id &&
        call.params.get("VSwitchName", each->name) == each->name &&
        call.params.get("VpcId", each->data.at("vpc")) == each->data.at("vpc") &&
        call.params.get("ZoneId", each->data.at("zone")) == each->data.at("zone") &&
        passes_tags(call.params, each->tags))
      items.push_back(shape_vswitch(call, *each));
  return paged(call, "VSwitches", "VSwitch", items, kLargestPage);
}

Json delete_vswitch(const AlibabaCall& call) {
  return remove(call, "subnet", "VSwitchId");
}

constexpr AlibabaAction kNetworkActions[] = {
    {"vpc", "CreateVpc", "RegionId! CidrBlock VpcName Description ClientToken Tag", create_vpc},
    {"vpc", "DescribeVpcs", "RegionId! VpcId VpcName IsDefault Tag PageNumber PageSize",
     describe_vpcs},
    {"vpc", "DeleteVpc", "RegionId VpcId! ClientToken", delete_vpc},
    {"vpc", "CreateVSwitch",
     "RegionId CidrBlock! VpcId! ZoneId! VSwitchName Description ClientToken Tag", create_vswitch},
    {"vpc", "DescribeVSwitches",
     "RegionId VSwitchId VSwitchName VpcId ZoneId IsDefault Tag PageNumber PageSize",
     describe_vswitches},
    {"vpc", "DeleteVSwitch", "RegionId VSwitchId!", delete_vswitch},
};

}  // namespace

std::span<const AlibabaAction> network_actions() {
  return kNetworkActions;
}

}  // namespace fastgpu::cloudsim::alibaba
