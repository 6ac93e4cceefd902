#include <algorithm>

#include "cloudsim/apis/aws/ec2.hpp"
#include "cloudsim/world/live.hpp"

namespace fastgpu::cloudsim::aws {
namespace {

Json shape_gateway(const Ec2Call&, const Resource& gateway) {
  Json attachments = Json::array();
  for (const std::string& vpc : gateway.uses)
    attachments.push_back({{"vpcId", vpc}, {"state", "available"}});
  return {{"internetGatewayId", gateway.id},
          {"attachmentSet", attachments},
          {"tagSet", tag_set(gateway.tags)}};
}

Facts gateway_facts(const Resource& gateway) {
  return {{"internet-gateway-id", {gateway.id}},
          {"attachment.vpc-id", {gateway.uses.begin(), gateway.uses.end()}}};
}

Json create_gateway(const Ec2Call& call) {
  stop_if_dry_run(call.params);
  Resource& made = call.world.add(call.scope, "gateway", call.world.new_id("igw-", 17));
  made.tags = tags_for(call.params, "internet-gateway");
  return {{"internetGateway", shape_gateway(call, made)}};
}

Json describe_gateways(const Ec2Call& call) {
  return describe(call, "gateway", "InternetGatewayId", "internetGatewaySet", gateway_facts,
                  shape_gateway);
}

Json attach_gateway(const Ec2Call& call) {
  Resource& gateway = resource(call, "gateway", call.params.get("InternetGatewayId"));
  const Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  if (!gateway.uses.empty())
    throw Refusal(
        400, "Resource.AlreadyAssociated",
        "resource " + gateway.id + " is already attached to network " + *gateway.uses.begin());
  for (const Resource* other : call.world.resources_of(call.scope, "gateway"))
    if (other->uses.contains(vpc.id))
      throw Refusal(400, "InvalidParameterValue",
                    "Network " + vpc.id + " already has an internet gateway attached");
  gateway.uses = {vpc.id};
  return ok();
}

/// Detaches a gateway. Refuses while the network has public addresses, which need the gateway.
Json detach_gateway(const Ec2Call& call) {
  Resource& gateway = resource(call, "gateway", call.params.get("InternetGatewayId"));
  const std::string vpc = call.params.get("VpcId");
  if (!gateway.uses.contains(vpc))
    throw Refusal(400, "Gateway.NotAttached", gateway.id + " is not attached to " + vpc);
  for (const Instance* each : live_instances(call.world, call.scope))
    if (each->vpc == vpc && !each->public_address.empty())
      throw Refusal(400, "DependencyViolation",
                    "Network " + vpc + " has some mapped public address(es).");
  gateway.uses.clear();
  return ok();
}

Json delete_gateway(const Ec2Call& call) {
  Resource& gateway = resource(call, "gateway", call.params.get("InternetGatewayId"));
  if (!gateway.uses.empty())
    throw Refusal(
        400, "DependencyViolation",
        "The internetGateway '" + gateway.id + "' has dependencies and cannot be deleted.");
  call.world.remove(gateway);
  return ok();
}

Json shape_table(const Ec2Call&, const Resource& table) {
  Json routes = Json::array();
  for (const Json& route : table.data.at("routes"))
    routes.push_back({{"destinationCidrBlock", route.at("destination")},
                      {"gatewayId", route.at("gateway")},
                      {"state", "active"}});
  Json associations = Json::array();
  if (table.data.value("main", false))
    associations.push_back({{"routeTableAssociationId", "rtbassoc-" + table.id.substr(4)},
                            {"routeTableId", table.id},
                            {"main", true}});
  for (const Json& each : table.data.at("associations"))
    associations.push_back({{"routeTableAssociationId", each.at("id")},
                            {"routeTableId", table.id},
                            {"subnetId", each.at("subnet")},
                            {"main", false},
                            {"associationState", {{"state", "associated"}}}});
  return {{"routeTableId", table.id},
          {"vpcId", table.data.at("vpc")},
          {"routeSet", routes},
          {"associationSet", associations},
          {"tagSet", tag_set(table.tags)}};
}

Facts table_facts(const Resource& table) {
  std::vector<std::string> subnets, associations, gateways;
  for (const Json& each : table.data.at("associations")) {
    subnets.push_back(each.at("subnet"));
    associations.push_back(each.at("id"));
  }
  for (const Json& each : table.data.at("routes"))
    gateways.push_back(each.at("gateway"));
  return {{"route-table-id", {table.id}},
          {"vpc-id", {table.data.at("vpc")}},
          {"association.main", {table.data.value("main", false) ? "true" : "false"}},
          {"association.subnet-id", subnets},
          {"association.route-table-association-id", associations},
          {"route.gateway-id", gateways}};
}

Json create_table(const Ec2Call& call) {
  const Resource& vpc = resource(call, "vpc", call.params.get("VpcId"));
  Resource& made = call.world.add(call.scope, "route-table", call.world.new_id("rtb-", 17));
  made.uses = {vpc.id};
  made.tags = tags_for(call.params, "route-table");
  made.data = {{"vpc", vpc.id},
               {"associations", Json::array()},
               {"routes", {{{"destination", vpc.data.at("cidr")}, {"gateway", "local"}}}}};
  return {{"routeTable", shape_table(call, made)}};
}

Json describe_tables(const Ec2Call& call) {
  return describe(call, "route-table", "RouteTableId", "routeTableSet", table_facts, shape_table);
}

Json create_route(const Ec2Call& call) {
  Resource& table = resource(call, "route-table", call.params.get("RouteTableId"));
  const std::string gateway = call.params.get("GatewayId");
  const std::string vpc = table.data.at("vpc");
  if (!resource(call, "gateway", gateway).uses.contains(vpc))
    throw Refusal(400, "InvalidParameterValue",
                  "route table " + table.id + " and network gateway " + gateway +
                      " belong to different networks");
  const std::string destination = call.params.get("DestinationCidrBlock");
  for (const Json& route : table.data.at("routes"))
    if (route.at("destination") == destination && route.at("gateway") != gateway)
      throw Refusal(400, "RouteAlreadyExists",
                    "The route identified by " + destination + " already exists.");
    else if (route.at("destination") == destination)
      return ok();
  table.data["routes"].push_back({{"destination", destination}, {"gateway", gateway}});
  return ok();
}

Json associate_table(const Ec2Call& call) {
  Resource& table = resource(call, "route-table", call.params.get("RouteTableId"));
  const Resource& subnet = resource(call, "subnet", call.params.get("SubnetId"));
  for (const Resource* other : call.world.resources_of(call.scope, "route-table"))
    for (const Json& each : other->data.at("associations"))
      if (each.at("subnet") == subnet.id && other->id != table.id)
        throw Refusal(400, "Resource.AlreadyAssociated",
                      "the specified association for route table " + table.id +
                          " conflicts with an existing association");
      else if (each.at("subnet") == subnet.id)
        return {{"associationId", each.at("id")}};
  const std::string id = call.world.new_id("rtbassoc-", 17);
  table.data["associations"].push_back({{"id", id}, {"subnet", subnet.id}});
  return {{"associationId", id}, {"associationState", {{"state", "associated"}}}};
}

Json disassociate_table(const Ec2Call& call) {
  const std::string id = call.params.get("AssociationId");
  for (Resource* table : call.world.resources_of(call.scope, "route-table")) {
    Json kept = Json::array();
    for (const Json& each : table->data.at("associations"))
      if (each.at("id") != id) kept.push_back(each);
    if (kept.size() == table->data.at("associations").size()) continue;
    table->data["associations"] = kept;
    return ok();
  }
  throw Refusal(400, "InvalidAssociationID.NotFound",
                "The association ID '" + id + "' does not exist");
}

/// Returns true if the table is associated with a live subnet.
bool still_associated(const Ec2Call& call, const Resource& table) {
  const Json& associations = table.data.at("associations");
  return std::ranges::any_of(associations, [&](const Json& each) {
    return call.world.find(call.scope, "subnet", each.at("subnet")) != nullptr;
  });
}

Json delete_table(const Ec2Call& call) {
  Resource& table = resource(call, "route-table", call.params.get("RouteTableId"));
  if (table.data.value("main", false) || still_associated(call, table))
    throw Refusal(400, "DependencyViolation",
                  "The routeTable '" + table.id + "' has dependencies and cannot be deleted.");
  call.world.remove(table);
  return ok();
}

constexpr Ec2Action kRoutesActions[] = {
    {"CreateInternetGateway", "TagSpecification", create_gateway},
    {"DescribeInternetGateways",
     "InternetGatewayId Filter:internet-gateway-id,attachment.vpc-id MaxResults NextToken",
     describe_gateways},
    {"AttachInternetGateway", "InternetGatewayId! VpcId!", attach_gateway},
    {"DetachInternetGateway", "InternetGatewayId! VpcId!", detach_gateway},
    {"DeleteInternetGateway", "InternetGatewayId!", delete_gateway},
    {"CreateRouteTable", "VpcId! TagSpecification ClientToken", create_table},
    {"DescribeRouteTables",
     "RouteTableId "
     "Filter:route-table-id,vpc-id,association.main,association.subnet-id,association.route-table-"
     "association-id,route.gateway-id MaxResults NextToken",
     describe_tables},
    {"CreateRoute", "RouteTableId! DestinationCidrBlock! GatewayId!", create_route},
    {"AssociateRouteTable", "RouteTableId! SubnetId!", associate_table},
    {"DisassociateRouteTable", "AssociationId!", disassociate_table},
    {"DeleteRouteTable", "RouteTableId!", delete_table},
};

}  // namespace

std::span<const Ec2Action> route_actions() {
  return kRoutesActions;
}

}  // namespace fastgpu::cloudsim::aws
