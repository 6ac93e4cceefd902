#include <algorithm>

#include "base/contains.hpp"
#include "cloudsim/apis/huawei/call.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/world/cidr.hpp"

namespace fastgpu::cloudsim::huawei {
namespace {

/// A new network cannot be used for this long.
constexpr auto kPreparing = std::chrono::milliseconds(200);

bool is_ready(const HuaweiCall& call, const Resource& made) {
  return call.world.now() >= made.created + kPreparing;
}

Cidr range_of(const std::string& text) {
  const auto range = parse_cidr(text, 8, 29);
  if (!range) throw Refusal(400, "VPC.0101", "`" + text + "` is no CIDR.");
  return *range;
}

Json shape_vpc(const HuaweiCall& call, const Resource& vpc) {
  return {{"id", vpc.id},
          {"name", vpc.name},
          {"cidr", vpc.data.at("cidr")},
          {"description", vpc.data.at("description")},
          {"status", is_ready(call, vpc) ? "OK" : "CREATING"},
          {"tenant_id", project_of(call.scope.region)},
          {"routes", Json::array()},
          {"created_at", iso_time(vpc.created)}};
}

void check_name(const std::string& name) {
  const bool good = std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c >= 128;
  });
  if (!good || name.size() > 64)
    throw ProtocolViolation(400, "VPC.0101",
                            "a name has up to 64 letters, digits and _-.: " + name);
}

Answered create_vpc(const HuaweiCall& call) {
  const Json& request = call.body.at("vpc");
  const std::string name = request.value("name", "");
  check_name(name);
  const std::string cidr = request.value("cidr", "");
  if (!cidr.empty()) range_of(cidr);
  const auto vpcs = call.world.resources_of(call.scope, "vpc");
  if (!name.empty() && contains(vpcs, name, &Resource::name))
    throw Refusal(400, "VPC.0115", "The router name has exist.");
  const auto limit = call.catalogue().quota(call.scope.region, "vpcs");
  if (limit && double(vpcs.size()) >= *limit)
    throw Refusal(409, "VPC.0114", "Quota exceeded for resources: ['router'].");
  Resource& made = call.world.add(call.scope, "vpc", new_uuid(call.world));
  made.name = name;
  made.data = {{"cidr", cidr}, {"description", request.value("description", "")}};
  return {200, {{"vpc", shape_vpc(call, made)}}};
}

Answered list_vpcs(const HuaweiCall& call) {
  std::vector<Json> vpcs;
  for (const Resource* each : call.world.resources_of(call.scope, "vpc"))
    if (call.asked("id", each->id) == each->id) vpcs.push_back(shape_vpc(call, *each));
  return {200, marked_page(call, "vpcs", vpcs)};
}

Answered show_vpc(const HuaweiCall& call) {
  return {200, {{"vpc", shape_vpc(call, resource(call, "vpc", call.path.at("vpc_id")))}}};
}

Answered delete_vpc(const HuaweiCall& call) {
  call.world.remove(resource(call, "vpc", call.path.at("vpc_id")));
  return {204, {}};
}

Json shape_subnet(const HuaweiCall& call, const Resource& subnet) {
  return {{"id", subnet.id},
          {"name", subnet.name},
          {"description", subnet.data.at("description")},
          {"cidr", subnet.data.at("cidr")},
          {"gateway_ip", subnet.data.at("gateway")},
          {"vpc_id", subnet.data.at("vpc")},
          {"status", is_ready(call, subnet) ? "ACTIVE" : "UNKNOWN"},
          {"dhcp_enable", true},
          {"neutron_network_id", subnet.id},
          {"available_ip_address_count", call.world.free_addresses(subnet)}};
}

Answered create_subnet(const HuaweiCall& call) {
  const Json& request = call.body.at("subnet");
  const Resource& vpc = resource(call, "vpc", request.at("vpc_id"));
  if (!is_ready(call, vpc)) throw Refusal(400, "VPC.0004", "VPC is not active, please try later.");
  check_name(request.at("name"));
  const std::string cidr = request.at("cidr");
  const Cidr range = range_of(cidr);
  if (!range_of(vpc.data.at("cidr")).holds(range))
    throw Refusal(400, "VPC.0203", "The subnet is not in the range of its VPC.");
  const auto gateway = parse_cidr(request.at("gateway_ip").get<std::string>() + "/32", 32, 32);
  if (!gateway || !range.holds(*gateway))
    throw ProtocolViolation(400, "VPC.0201", "gateway_ip is not in the subnet");
  for (const Resource* other : call.world.resources_of(call.scope, "subnet"))
    if (other->data.at("vpc") == vpc.id && range_of(other->data.at("cidr")).overlaps(range))
      throw Refusal(400, "VPC.0204", "The subnet overlaps " + other->id);
  Resource& made = call.world.add(call.scope, "subnet", new_uuid(call.world));
  made.name = request.at("name");
  made.uses = {vpc.id};
  made.data = {{"vpc", vpc.id},
               {"cidr", cidr},
               {"gateway", request.at("gateway_ip")},
               {"description", request.value("description", "")}};
  return {200, {{"subnet", shape_subnet(call, made)}}};
}

Answered list_subnets(const HuaweiCall& call) {
  std::vector<Json> subnets;
  for (const Resource* each : call.world.resources_of(call.scope, "subnet"))
    if (call.asked("vpc_id", each->data.at("vpc")) == each->data.at("vpc"))
      subnets.push_back(shape_subnet(call, *each));
  return {200, marked_page(call, "subnets", subnets)};
}

Answered show_subnet(const HuaweiCall& call) {
  const Resource& subnet = resource(call, "subnet", call.path.at("subnet_id"));
  return {200, {{"subnet", shape_subnet(call, subnet)}}};
}

Answered delete_subnet(const HuaweiCall& call) {
  Resource& subnet = resource(call, "subnet", call.path.at("subnet_id"));
  if (subnet.data.at("vpc") != call.path.at("vpc_id"))
    throw Refusal(404, "VPC.0202", "The subnet is in another VPC.");
  call.world.remove(subnet);
  return {204, {}};
}

constexpr HuaweiAction kNetworkActions[] = {
    {"vpc", "CreateVpc", "POST", "/v1/{project_id}/vpcs", "", create_vpc},
    {"vpc", "ListVpcs", "GET", "/v1/{project_id}/vpcs", "", list_vpcs},
    {"vpc", "ShowVpc", "GET", "/v1/{project_id}/vpcs/{vpc_id}", "", show_vpc},
    {"vpc", "DeleteVpc", "DELETE", "/v1/{project_id}/vpcs/{vpc_id}", "", delete_vpc},
    {"vpc", "CreateSubnet", "POST", "/v1/{project_id}/subnets", "", create_subnet},
    {"vpc", "ListSubnets", "GET", "/v1/{project_id}/subnets", "", list_subnets},
    {"vpc", "ShowSubnet", "GET", "/v1/{project_id}/subnets/{subnet_id}", "", show_subnet},
    {"vpc", "DeleteSubnet", "DELETE", "/v1/{project_id}/vpcs/{vpc_id}/subnets/{subnet_id}", "",
     delete_subnet},
};

}  // namespace

std::span<const HuaweiAction> network_actions() {
  return kNetworkActions;
}

}  // namespace fastgpu::cloudsim::huawei
