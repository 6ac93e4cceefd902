// The parts of a cluster in AWS: a VPC with a gateway and a subnet a zone, a security group, and a
// placement group where machines are to stand close together.
#include <algorithm>
#include <chrono>
#include <functional>

#include "provision/cloud/find_or_make.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "provision/providers/aws/machines.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::Marks;
using cloud::NetworkWish;
using cloud::Parts;

constexpr const char* kVpcRange = "10.77.0.0/16";

/// How one kind of part is listed, made and removed.
struct Kind {
  const char* name;        ///< Ours.
  const char* listed_by;   ///< Action.
  const char* set;         ///< Element of the answer's list.
  const char* id;          ///< Element of its identity.
  const char* removed_by;  ///< Action.
  const char* parameter;   ///< By which that action names it.
};

constexpr Kind kGroup = {"security-group", "DescribeSecurityGroups", "securityGroupInfo",
                         "groupId",        "DeleteSecurityGroup",    "GroupId"};
constexpr Kind kSubnet = {"subnet",   "DescribeSubnets", "subnetSet",
                          "subnetId", "DeleteSubnet",    "SubnetId"};
constexpr Kind kGateway = {"internet-gateway",  "DescribeInternetGateways", "internetGatewaySet",
                           "internetGatewayId", "DeleteInternetGateway",    "InternetGatewayId"};
constexpr Kind kVpc = {"vpc", "DescribeVpcs", "vpcSet", "vpcId", "DeleteVpc", "VpcId"};
constexpr Kind kPlacement = {"placement-group", "DescribePlacementGroups", "placementGroupSet",
                             "groupName",       "DeletePlacementGroup",    "GroupName"};

/// In the order in which they can be removed; placement groups, which few clusters have, go first.
constexpr Kind kKinds[] = {kGroup, kSubnet, kGateway, kVpc};

using Filters = std::vector<std::pair<std::string, std::string>>;

std::string our_name(const Marks& marks) {
  return "fastgpu-" + marks.cluster_name + "-" + marks.cluster.value;
}

/// A call that makes a part.
struct Making {
  const char* action;
  const char* type;  ///< The resource's, for its tags.
  Parameters parameters;
  std::function<std::string(const pugi::xml_node&)> id_in;  ///< Out of the answer's root.
};

using Wait = std::function<void(std::chrono::milliseconds, const Cancel&)>;

/// Finds and makes parts in one region.
class Network {
 public:
  Network(Ec2& ec2, std::string region, const Wait& wait, const Cancel& cancel)
      : ec2_(ec2), region_(std::move(region)), wait_(wait), cancel_(cancel) {}

  Ec2::Document call(const std::string& action, Parameters parameters, const std::string& doing) {
    return ec2_.call({region_, action, std::move(parameters), doing + " in " + region_}, cancel_);
  }

  /// The list's members that pass all filters, in a document that must outlive them.
  std::vector<pugi::xml_node> find(const Kind& kind, const Filters& filters) {
    Parameters parameters;
    int n = 0;
    for (const auto& [name, value] : filters)
      add_filter(parameters, ++n, name, {value});
    found_.push_back(call(kind.listed_by, parameters, std::string("looking for a ") + kind.name));
    return items(found_.back()->document_element(), kind.set);
  }

  /// Throws conflict where there are several.
  std::string find_one(const Kind& kind, const Filters& filters) {
    const auto found = find(kind, filters);
    if (found.size() > 1)
      throw Error(ErrorKind::conflict, "aws: " + std::to_string(found.size()) + " " + kind.name +
                                           "s in " + region_ + " have " + filters.front().first +
                                           " " + filters.front().second +
                                           ": which one is meant cannot be told");
    return found.empty() ? "" : found.front().child_value(kind.id);
  }

  /// What `look` finds; else makes it and reads its identity out of the answer. These calls have no
  /// idempotency tokens: where an answer is lost it is looked again before it is made again.
  std::string find_or_make(const std::function<std::string()>& look, const Making& making,
                           const Marks& marks) {
    return cloud::find_or_make(
        look, [&] { return make(making, marks); }, wait_, cancel_);
  }

 private:
  std::string make(const Making& making, const Marks& marks) {
    Ec2Call call{.region = region_,
                 .action = making.action,
                 .parameters = making.parameters,
                 .doing = std::string("making a ") + making.type + " in " + region_,
                 .is_repeatable = false};
    call.parameters.emplace_back("TagSpecification.1.ResourceType", making.type);
    add_tags(call.parameters, "TagSpecification.1", marks);
    const auto answer = ec2_.call(call, cancel_);
    return making.id_in(answer->document_element());
  }

  Ec2& ec2_;
  std::string region_;
  const Wait& wait_;
  const Cancel& cancel_;
  std::vector<Ec2::Document> found_;
};

Filters marked(const state::ClusterId& cluster) {
  return {{"tag:" + std::string(cloud::kClusterTag), cluster.value}};
}

/// The user's own, by id or name.
std::string existing_vpc(Network& network, const std::string& vpc) {
  const bool is_id = vpc.starts_with("vpc-");
  const std::string found = network.find_one(kVpc, {{is_id ? "vpc-id" : "tag:Name", vpc}});
  if (found.empty())
    throw Error(ErrorKind::not_found, "aws: there is no VPC '" + vpc + "' in that region");
  return found;
}

std::string our_vpc(Network& network, const NetworkWish& wish) {
  return network.find_or_make(
      [&] { return network.find_one(kVpc, marked(wish.marks.cluster)); },
      {"CreateVpc",
       "vpc",
       {{"CidrBlock", kVpcRange}},
       [](const pugi::xml_node& root) { return root.child("vpc").child_value("vpcId"); }},
      wish.marks);
}

/// The gateway, attached, and the main route table's way to it.
void open_to_internet(Network& network, const NetworkWish& wish, const std::string& vpc) {
  bool is_attached = false;
  const auto look = [&]() -> std::string {
    const auto found = network.find(kGateway, marked(wish.marks.cluster));
    is_attached = !found.empty() && !items(found.front(), "attachmentSet").empty();
    return found.empty() ? "" : found.front().child_value(kGateway.id);
  };
  const std::string gateway =
      network.find_or_make(look,
                           {"CreateInternetGateway",
                            "internet-gateway",
                            {},
                            [](const pugi::xml_node& root) {
                              return root.child("internetGateway").child_value("internetGatewayId");
                            }},
                           wish.marks);
  if (!is_attached)
    network.call("AttachInternetGateway", {{"InternetGatewayId", gateway}, {"VpcId", vpc}},
                 "attaching the gateway");
  Parameters main_table;
  add_filter(main_table, 1, "vpc-id", {vpc});
  add_filter(main_table, 2, "association.main", {"true"});
  const auto tables = network.call("DescribeRouteTables", main_table, "looking for the routes");
  const auto found_tables = items(tables->document_element(), "routeTableSet");
  if (found_tables.empty())
    throw Error(ErrorKind::remote, "aws: " + vpc + " has no main route table");
  for (const pugi::xml_node& route : items(found_tables.front(), "routeSet"))
    if (route.child_value("gatewayId") == gateway) return;
  network.call("CreateRoute",
               {{"RouteTableId", found_tables.front().child_value("routeTableId")},
                {"DestinationCidrBlock", "0.0.0.0/0"},
                {"GatewayId", gateway}},
               "making a route");
}

/// Zones get ranges of their own by their last letter: 10.77.0.0/20 for a, 10.77.16.0/20 for b.
std::string subnet_range(const std::string& zone) {
  const int nth = zone.empty() ? 0 : (zone.back() - 'a') & 15;
  return "10.77." + std::to_string(nth * 16) + ".0/20";
}

std::string subnet_in(Network& network, const NetworkWish& wish, const std::string& vpc) {
  const auto look = [&]() -> std::string {
    const auto found =
        network.find(kSubnet, {{"vpc-id", vpc}, {"availability-zone", wish.site.zone}});
    if (!found.empty()) return found.front().child_value(kSubnet.id);
    if (wish.vpc.empty()) return {};
    throw Error(ErrorKind::not_found, "aws: " + vpc + " has no subnet in " + wish.site.zone +
                                          ": make one, or leave --vpc out");
  };
  return network.find_or_make(
      look,
      {"CreateSubnet",
       "subnet",
       {{"VpcId", vpc},
        {"CidrBlock", subnet_range(wish.site.zone)},
        {"AvailabilityZone", wish.site.zone}},
       [](const pugi::xml_node& root) { return root.child("subnet").child_value("subnetId"); }},
      wish.marks);
}

bool allows(const pugi::xml_node& group, const std::string& protocol, const std::string& source) {
  for (const pugi::xml_node& rule : items(group, "ipPermissions")) {
    if (rule.child_value("ipProtocol") != protocol) continue;
    for (const pugi::xml_node& range : items(rule, "ipRanges"))
      if (range.child_value("cidrIp") == source) return true;
    for (const pugi::xml_node& other : items(rule, "groups"))
      if (other.child_value("groupId") == source) return true;
  }
  return false;
}

/// SSH from where the wish says; everything between the cluster's machines.
std::string security_group(Network& network, const NetworkWish& wish, const std::string& vpc) {
  const std::string name = our_name(wish.marks);
  std::vector<pugi::xml_node> found;
  const auto look = [&]() -> std::string {
    found = network.find(kGroup, {{"vpc-id", vpc}, {"group-name", name}});
    return found.empty() ? "" : found.front().child_value(kGroup.id);
  };
  const std::string group = network.find_or_make(
      look,
      {"CreateSecurityGroup",
       "security-group",
       {{"GroupName", name},
        {"GroupDescription", "Machines of fastgpu cluster " + wish.marks.cluster_name},
        {"VpcId", vpc}},
       [](const pugi::xml_node& root) { return root.child_value("groupId"); }},
      wish.marks);
  Parameters rules;
  int n = 0;
  const auto rule = [&](const std::string& name_of, const std::string& value) {
    rules.emplace_back("IpPermissions." + std::to_string(n) + "." + name_of, value);
  };
  if (found.empty() || !allows(found.front(), "-1", group)) {
    ++n;
    rule("IpProtocol", "-1");
    rule("Groups.1.GroupId", group);
  }
  for (const std::string& range : wish.ssh_from) {
    if (!found.empty() && allows(found.front(), "tcp", range)) continue;
    ++n;
    rule("IpProtocol", "tcp");
    rule("FromPort", "22");
    rule("ToPort", "22");
    rule("IpRanges.1.CidrIp", range);
  }
  if (n == 0) return group;
  rules.emplace_back("GroupId", group);
  network.call("AuthorizeSecurityGroupIngress", rules, "opening the security group");
  // The elastic fabric adapter wants the way out to the group named, too.
  if (found.empty() && wish.close_together)
    network.call("AuthorizeSecurityGroupEgress",
                 {{"GroupId", group},
                  {"IpPermissions.1.IpProtocol", "-1"},
                  {"IpPermissions.1.Groups.1.GroupId", group}},
                 "opening the security group");
  return group;
}

std::string placement_group(Network& network, const NetworkWish& wish) {
  const std::string name = our_name(wish.marks);
  return network.find_or_make(
      [&] { return network.find_one(kPlacement, marked(wish.marks.cluster)); },
      {"CreatePlacementGroup",
       "placement-group",
       {{"GroupName", name}, {"Strategy", "cluster"}},
       [&](const pugi::xml_node&) { return name; }},
      wish.marks);
}

/// Whether a cluster's, or for an empty identity any cluster's, placement groups are there to be
/// listed: most clusters have none, and not every EC2 there is knows of them.
bool has_placement_groups(Network& network, const state::ClusterId& cluster) {
  Parameters parameters;
  add_filter(parameters, 1, "resource-type", {kPlacement.name});
  add_filter(parameters, 2, "key", {std::string(cloud::kClusterTag)});
  if (!cluster.value.empty()) add_filter(parameters, 3, "value", {cluster.value});
  const auto tags = network.call("DescribeTags", parameters, "looking for placement groups");
  return !items(tags->document_element(), "tagSet").empty();
}

/// Every part that carries the cluster's mark, or for an empty identity any cluster's, in the order
/// in which they can be removed.
void for_each_part(Network& network, const state::ClusterId& cluster,
                   const std::function<void(const Kind&, const pugi::xml_node&)>& take) {
  const Filters filters = cluster.value.empty()
                              ? Filters{{"tag-key", std::string(cloud::kClusterTag)}}
                              : marked(cluster);
  const auto take_all = [&](const Kind& kind) {
    for (const pugi::xml_node& part : network.find(kind, filters))
      take(kind, part);
  };
  if (has_placement_groups(network, cluster)) take_all(kPlacement);
  for (const Kind& kind : kKinds)
    take_all(kind);
}

}  // namespace

Parts AwsCloud::make_network(const NetworkWish& wish, const Cancel& cancel) {
  Network network(ec2_, wish.site.region, wait_, cancel);
  Parts parts;
  const bool is_ours = wish.vpc.empty();
  parts["vpc"] = is_ours ? our_vpc(network, wish) : existing_vpc(network, wish.vpc);
  if (is_ours) open_to_internet(network, wish, parts["vpc"]);
  parts["subnet"] = subnet_in(network, wish, parts["vpc"]);
  parts["security-group"] = security_group(network, wish, parts["vpc"]);
  if (wish.close_together) parts["placement-group"] = placement_group(network, wish);
  return parts;
}

void AwsCloud::remove_network(const std::string& region, const state::ClusterId& cluster) {
  Network network(ec2_, region, wait_, never_);
  for_each_part(network, cluster, [&](const Kind& kind, const pugi::xml_node& part) {
    const std::string id = part.child_value(kind.id);
    for (const pugi::xml_node& attached : items(part, "attachmentSet"))
      network.call("DetachInternetGateway",
                   {{"InternetGatewayId", id}, {"VpcId", attached.child_value("vpcId")}},
                   "detaching " + id);
    const Ec2Call removal{region, kind.removed_by, {{kind.parameter, id}}, "removing " + id};
    const auto failure = ec2_.try_call(removal, never_);
    if (failure && failure->kind != cloud::FailureKind::not_found)
      throw cloud::error_of(*failure, "aws: removing " + id);
  });
}

std::vector<cloud::Part> AwsCloud::parts(const std::string& region, const Cancel& cancel) {
  Network network(ec2_, region, wait_, cancel);
  std::vector<cloud::Part> found;
  for_each_part(network, {}, [&](const Kind& kind, const pugi::xml_node& part) {
    found.push_back({kind.name, part.child_value(kind.id), marks_in(part)});
  });
  return found;
}

}  // namespace fastgpu::provision::aws
