// The parts of a cluster in AWS: a VPC with a gateway and a subnet for each zone, a security group,
// and a placement group for machines that must be close together.
#include <algorithm>
#include <span>

#include "base/join.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "provision/providers/aws/machines.hpp"
#include "provision/providers/aws/network_parts.hpp"
#include "provision/providers/aws/security_rules.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::NetworkRequest;
using cloud::OwnerTags;
using cloud::Parts;

constexpr const char* kVpcRange = "10.77.0.0/16";

std::string our_name(const OwnerTags& marks) {
  return "fastgpu-" + marks.cluster_name + "-" + marks.cluster.value;
}

/// A network that is being made, and the parts that existed before.
struct Work {
  Network& network;
  const NetworkRequest& request;
  const Bearers& there;

  bool may_have(const PartKind& kind) const {
    return !request.vpc.empty() || there.contains(kind.name);
  }
};

Filters marked(const state::ClusterId& cluster) {
  return {{"tag:" + std::string(cloud::kClusterTag), cluster.value}};
}

/// Returns the user's own VPC, by id or name. Throws not_found if it is missing.
std::string existing_vpc(Network& network, const std::string& region, const std::string& vpc) {
  const bool is_id = vpc.starts_with("vpc-");
  const std::string found = network.find_one(kVpc, {{is_id ? "vpc-id" : "tag:Name", vpc}});
  if (found.empty())
    throw Error(ErrorKind::not_found, "aws: there is no VPC '" + vpc + "' in " + region);
  return found;
}

std::string our_vpc(const Work& work) {
  return work.network.find_or_make(
      [&] { return work.network.find_one(kVpc, marked(work.request.marks.cluster)); },
      {"CreateVpc",
       "vpc",
       {{"CidrBlock", kVpcRange}},
       [](const pugi::xml_node& root) { return root.child("vpc").child_value("vpcId"); }},
      work.request.marks, work.may_have(kVpc));
}

struct Gateway {
  std::string id;
  bool is_attached = false;
};

Gateway gateway(const Work& work) {
  Gateway gateway;
  const auto look = [&]() -> std::string {
    const Listed found = work.network.find(kGateway, marked(work.request.marks.cluster));
    gateway.is_attached = !found.empty() && !items(found.front(), "attachmentSet").empty();
    return found.empty() ? "" : found.front().child_value(kGateway.id);
  };
  gateway.id = work.network.find_or_make(
      look,
      {"CreateInternetGateway",
       "internet-gateway",
       {},
       [](const pugi::xml_node& root) {
         return root.child("internetGateway").child_value("internetGatewayId");
       }},
      work.request.marks, work.may_have(kGateway));
  return gateway;
}

/// Attaches the gateway, and adds a route to it to the main route table.
void open_to_internet(Network& network, const Gateway& gateway, const std::string& vpc) {
  Ec2::Document tables;
  cloud::Tasks tasks = {[&] {
    Parameters main_table;
    add_filter(main_table, 1, "vpc-id", {vpc});
    add_filter(main_table, 2, "association.main", {"true"});
    tables = network.call("DescribeRouteTables", main_table, "looking for the routes");
  }};
  if (!gateway.is_attached)
    tasks.emplace_back([&] {
      network.arrange("AttachInternetGateway", {{"InternetGatewayId", gateway.id}, {"VpcId", vpc}},
                      "attaching the gateway");
    });
  cloud::at_once(tasks);
  const auto found_tables = items(tables->document_element(), "routeTableSet");
  if (found_tables.empty())
    throw Error(ErrorKind::remote, "aws: " + vpc + " has no main route table");
  for (const pugi::xml_node& route : items(found_tables.front(), "routeSet"))
    if (route.child_value("gatewayId") == gateway.id) return;
  network.arrange("CreateRoute",
                  {{"RouteTableId", found_tables.front().child_value("routeTableId")},
                   {"DestinationCidrBlock", "0.0.0.0/0"},
                   {"GatewayId", gateway.id}},
                  "making a route");
}

/// Returns the range of a zone, by its last letter: 10.77.0.0/20 for a, 10.77.16.0/20 for b.
std::string subnet_range(const std::string& zone) {
  const int nth = zone.empty() ? 0 : (zone.back() - 'a') & 15;
  return "10.77." + std::to_string(nth * 16) + ".0/20";
}

std::string subnet_in(const Work& work, const std::string& vpc) {
  const NetworkRequest& request = work.request;
  const auto look = [&]() -> std::string {
    const Listed found =
        work.network.find(kSubnet, {{"vpc-id", vpc}, {"availability-zone", request.site.zone}});
    if (!found.empty()) return found.front().child_value(kSubnet.id);
    if (request.vpc.empty()) return {};
    throw Error(ErrorKind::not_found, "aws: " + vpc + " has no subnet in " + request.site.zone +
                                          ": make one, or leave --vpc out");
  };
  return work.network.find_or_make(
      look,
      {"CreateSubnet",
       "subnet",
       {{"VpcId", vpc},
        {"CidrBlock", subnet_range(request.site.zone)},
        {"AvailabilityZone", request.site.zone}},
       [](const pugi::xml_node& root) { return root.child("subnet").child_value("subnetId"); }},
      request.marks, work.may_have(kSubnet));
}

std::string security_group(const Work& work, const std::string& vpc) {
  const NetworkRequest& request = work.request;
  const std::string name = our_name(request.marks);
  Listed found;
  const auto look = [&]() -> std::string {
    Filters filters = marked(request.marks.cluster);
    filters.emplace_back("vpc-id", vpc);
    found = work.network.find(kGroup, filters);
    return found.empty() ? "" : found.front().child_value(kGroup.id);
  };
  const std::string group = work.network.find_or_make(
      look,
      {"CreateSecurityGroup",
       "security-group",
       {{"GroupName", name},
        {"GroupDescription", "Machines of fastgpu cluster " + request.marks.cluster_name},
        {"VpcId", vpc}},
       [](const pugi::xml_node& root) { return root.child_value("groupId"); }},
      request.marks, work.there.contains(kGroup.name));
  open_group(work.network, found.empty() ? pugi::xml_node() : found.front(), group, request);
  return group;
}

std::string placement_group(const Work& work) {
  const std::string name = our_name(work.request.marks);
  return work.network.find_or_make(
      [&] { return work.network.find_one(kPlacement, marked(work.request.marks.cluster)); },
      {"CreatePlacementGroup",
       "placement-group",
       {{"GroupName", name}, {"Strategy", "cluster"}},
       [&](const pugi::xml_node&) { return name; }},
      work.request.marks, work.there.contains(kPlacement.name));
}

/// Throws conflict, with the users, if something is left in the VPC.
void check_is_empty(Network& network, const std::string& vpc) {
  constexpr std::size_t kNamed = 5;
  const auto users = network.interfaces_in(vpc);
  if (users.empty()) return;
  std::string names;
  for (const std::string& user : std::span(users).first(std::min(kNamed, users.size())))
    append_item(names, user);
  if (users.size() > kNamed) names += " and " + std::to_string(users.size() - kNamed) + " more";
  throw Error(ErrorKind::conflict,
              "aws: " + vpc + " in " + network.region() + " is still used by " + names);
}

void detach(Network& network, const std::string& gateway, const std::string& vpc) {
  network.remove("DetachInternetGateway", {{"InternetGatewayId", gateway}, {"VpcId", vpc}},
                 "detaching " + gateway);
}

/// Removes placement groups, which are identified by their names here.
void remove_placement_groups(Network& network, const state::ClusterId& cluster) {
  for (const pugi::xml_node& group : network.find(kPlacement, marked(cluster)).parts) {
    const std::string name = group.child_value(kPlacement.id);
    network.remove(kPlacement.removed_by, {{kPlacement.parameter, name}}, "removing " + name);
  }
}

}  // namespace

void AwsCloud::check_network(const cloud::Site& site, const std::string& vpc,
                             const Cancel& cancel) {
  Network network(ec2_, site.region, wait_, cancel);
  const NetworkRequest request{.site = site, .vpc = vpc};
  const Bearers there;
  subnet_in({network, request, there}, existing_vpc(network, site.region, vpc));
}

Parts AwsCloud::make_network(const NetworkRequest& request, const Cancel& cancel) {
  Network network(ec2_, request.site.region, wait_, cancel);
  const bool is_ours = request.vpc.empty();
  const Bearers there = request.may_be_there ? network.bearers(request.marks.cluster) : Bearers();
  const Work work{network, request, there};
  std::string vpc;
  Gateway out;
  cloud::Tasks first = {[&] {
    vpc = is_ours ? our_vpc(work) : existing_vpc(network, request.site.region, request.vpc);
  }};
  if (is_ours) first.emplace_back([&] { out = gateway(work); });
  cloud::at_once(first);
  std::string subnet;
  std::string group;
  std::string placement;
  cloud::Tasks second = {[&] { subnet = subnet_in(work, vpc); },
                         [&] { group = security_group(work, vpc); }};
  if (is_ours) second.emplace_back([&] { open_to_internet(network, out, vpc); });
  if (request.close_together) second.emplace_back([&] { placement = placement_group(work); });
  cloud::at_once(second);
  Parts parts = {{"vpc", vpc}, {"subnet", subnet}, {"security-group", group}};
  if (request.close_together) parts["placement-group"] = placement;
  return parts;
}

std::vector<IpRange> AwsCloud::open_ranges(const NetworkRequest& request, const Cancel& cancel) {
  Network network(ec2_, request.site.region, wait_, cancel);
  std::vector<IpRange> ranges;
  for (const pugi::xml_node& group : network.find(kGroup, marked(request.marks.cluster)).parts)
    add_open_ranges(group, ranges);
  return ranges;
}

void AwsCloud::close_ranges(const NetworkRequest& request, const Cancel& cancel) {
  Network network(ec2_, request.site.region, wait_, cancel);
  const Listed found = network.find(kGroup, marked(request.marks.cluster));
  for (const pugi::xml_node& group : found.parts)
    close_group(network, group, request);
}

/// Removes the cluster's parts. Removes nothing of a network that something still uses. The gateway
/// goes last, because whatever is left in the network loses its way out with it.
void AwsCloud::remove_network(const std::string& region, const state::ClusterId& cluster,
                              const Parts& /*known*/) {
  Network network(ec2_, region, wait_, never_);
  Bearers there = network.bearers(cluster);
  const auto remove = [&](const PartKind& kind, const std::string& id) {
    network.remove(kind.removed_by, {{kind.parameter, id}}, "removing " + id);
  };
  const auto& vpcs = there[kVpc.name];
  for (const auto& [id, marks] : vpcs)
    check_is_empty(network, id);
  cloud::Tasks tasks;
  if (there.contains(kPlacement.name))
    tasks.emplace_back([&] { remove_placement_groups(network, cluster); });
  for (const PartKind* kind : {&kGroup, &kSubnet})
    for (const auto& [id, marks] : there[kind->name])
      tasks.emplace_back([&, kind, part = id] { remove(*kind, part); });
  if (!tasks.empty()) cloud::at_once(tasks);
  for (const auto& [gateway, marks] : there[kGateway.name]) {
    for (const auto& [vpc, its] : vpcs)
      detach(network, gateway, vpc);
    remove(kGateway, gateway);
  }
  for (const auto& [id, marks] : vpcs)
    remove(kVpc, id);
}

std::vector<cloud::CloudPart> AwsCloud::parts(const std::string& region, const Cancel& cancel) {
  Network network(ec2_, region, wait_, cancel);
  std::vector<cloud::CloudPart> found;
  for (const auto& [kind, parts] : network.bearers({}))
    for (const auto& [id, marks] : parts)
      found.push_back({kind, id, marks});
  return found;
}

}  // namespace fastgpu::provision::aws
