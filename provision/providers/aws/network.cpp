// The parts of a cluster in AWS: a VPC with a gateway and a subnet a zone, a security group, and a
// placement group where machines are to stand close together.
#include <algorithm>

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

/// In the order in which they can be removed.
constexpr Kind kKinds[] = {kPlacement, kGroup, kSubnet, kGateway, kVpc};

using Filters = std::vector<std::pair<std::string, std::string>>;

std::string our_name(const Marks& marks) {
  return "fastgpu-" + marks.cluster_name + "-" + marks.cluster.value;
}

/// Finds and makes parts in one region.
class Network {
 public:
  Network(Ec2& ec2, std::string region, const Cancel& cancel)
      : ec2_(ec2), region_(std::move(region)), cancel_(cancel) {}

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

  /// What was made is in made().
  void make(const std::string& action, Parameters parameters, const char* type,
            const Marks& marks) {
    parameters.emplace_back("TagSpecification.1.ResourceType", type);
    add_tags(parameters, "TagSpecification.1", marks);
    made_ = call(action, std::move(parameters), std::string("making a ") + type);
  }

  pugi::xml_node made() const { return made_->document_element(); }

 private:
  Ec2& ec2_;
  std::string region_;
  const Cancel& cancel_;
  std::vector<Ec2::Document> found_;
  Ec2::Document made_;
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
  std::string vpc = network.find_one(kVpc, marked(wish.marks.cluster));
  if (!vpc.empty()) return vpc;
  network.make("CreateVpc", {{"CidrBlock", kVpcRange}}, "vpc", wish.marks);
  return network.made().child("vpc").child_value("vpcId");
}

/// The gateway, attached, and the main route table's way to it.
void open_to_internet(Network& network, const NetworkWish& wish, const std::string& vpc) {
  const auto found = network.find(kGateway, marked(wish.marks.cluster));
  std::string gateway = found.empty() ? "" : found.front().child_value(kGateway.id);
  const bool is_attached = !found.empty() && !items(found.front(), "attachmentSet").empty();
  if (gateway.empty()) {
    network.make("CreateInternetGateway", {}, "internet-gateway", wish.marks);
    gateway = network.made().child("internetGateway").child_value("internetGatewayId");
  }
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
  const auto found =
      network.find(kSubnet, {{"vpc-id", vpc}, {"availability-zone", wish.site.zone}});
  if (!found.empty()) return found.front().child_value(kSubnet.id);
  if (!wish.vpc.empty())
    throw Error(ErrorKind::not_found, "aws: " + vpc + " has no subnet in " + wish.site.zone +
                                          ": make one, or leave --vpc out");
  network.make("CreateSubnet",
               {{"VpcId", vpc},
                {"CidrBlock", subnet_range(wish.site.zone)},
                {"AvailabilityZone", wish.site.zone}},
               "subnet", wish.marks);
  return network.made().child("subnet").child_value("subnetId");
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
  const auto found = network.find(kGroup, {{"vpc-id", vpc}, {"group-name", name}});
  std::string group = found.empty() ? "" : found.front().child_value(kGroup.id);
  if (group.empty()) {
    network.make("CreateSecurityGroup",
                 {{"GroupName", name},
                  {"GroupDescription", "Machines of fastgpu cluster " + wish.marks.cluster_name},
                  {"VpcId", vpc}},
                 "security-group", wish.marks);
    group = network.made().child_value("groupId");
  }
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
  const std::string found = network.find_one(kPlacement, marked(wish.marks.cluster));
  if (!found.empty()) return found;
  const std::string name = our_name(wish.marks);
  network.make("CreatePlacementGroup", {{"GroupName", name}, {"Strategy", "cluster"}},
               "placement-group", wish.marks);
  return name;
}

}  // namespace

Parts AwsCloud::make_network(const NetworkWish& wish, const Cancel& cancel) {
  Network network(ec2_, wish.site.region, cancel);
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
  Network network(ec2_, region, never_);
  for (const Kind& kind : kKinds) {
    for (const pugi::xml_node& part : network.find(kind, marked(cluster))) {
      const std::string id = part.child_value(kind.id);
      for (const pugi::xml_node& attached : items(part, "attachmentSet"))
        network.call("DetachInternetGateway",
                     {{"InternetGatewayId", id}, {"VpcId", attached.child_value("vpcId")}},
                     "detaching " + id);
      const Ec2Call removal{region, kind.removed_by, {{kind.parameter, id}}, "removing " + id};
      const auto failure = ec2_.try_call(removal, never_);
      if (failure && failure->kind != cloud::FailureKind::not_found)
        throw cloud::error_of(*failure, "aws: removing " + id);
    }
  }
}

std::vector<cloud::Part> AwsCloud::parts(const std::string& region, const Cancel& cancel) {
  Network network(ec2_, region, cancel);
  std::vector<cloud::Part> found;
  for (const Kind& kind : kKinds)
    for (const pugi::xml_node& part :
         network.find(kind, {{"tag-key", std::string(cloud::kClusterTag)}}))
      found.push_back({kind.name, part.child_value(kind.id), marks_in(part)});
  return found;
}

}  // namespace fastgpu::provision::aws
