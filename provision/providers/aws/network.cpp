// The parts of a cluster in AWS: a VPC with a gateway and a subnet for each zone, a security group,
// and a placement group for machines that must be close together.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <span>

#include "base/join.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/find_or_make.hpp"
#include "provision/cloud/range_texts.hpp"
#include "provision/polling.hpp"
#include "provision/providers/aws/aws_cloud.hpp"
#include "provision/providers/aws/machines.hpp"

namespace fastgpu::provision::aws {
namespace {

using cloud::NetworkRequest;
using cloud::OwnerTags;
using cloud::Parts;

constexpr const char* kVpcRange = "10.77.0.0/16";

/// The calls that list, make and remove one kind of part.
struct Kind {
  const char* name;        ///< The name of the kind in fastgpu.
  const char* listed_by;   ///< The action.
  const char* set;         ///< The element of the answer with the list.
  const char* id;          ///< The element with the identity.
  const char* removed_by;  ///< The action.
  const char* parameter;   ///< The parameter of that action.
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

using Filters = std::vector<std::pair<std::string, std::string>>;

std::string our_name(const OwnerTags& marks) {
  return "fastgpu-" + marks.cluster_name + "-" + marks.cluster.value;
}

/// A call that makes a part.
struct Making {
  const char* action;
  const char* type;  ///< The type of the resource, for its tags.
  Parameters parameters;
  /// Returns the identity from the answer's root.
  std::function<std::string(const pugi::xml_node&)> id_in;
};

/// Parts, with the document that holds them.
struct Listed {
  Ec2::Document document;
  std::vector<pugi::xml_node> parts;

  bool empty() const { return parts.empty(); }
  const pugi::xml_node& front() const { return parts.front(); }
};

/// The marks on our resources, by EC2's name of the kind and by identity.
using Bearers = std::map<std::string, std::map<std::string, OwnerTags>>;

/// A finder and maker of parts in one region. Several threads may use one.
class Network {
 public:
  Network(Ec2& ec2, std::string region, const Wait& wait, const Cancel& cancel)
      : ec2_(ec2), region_(std::move(region)), wait_(wait), cancel_(cancel) {}

  Ec2::Document call(const std::string& action, Parameters parameters, const std::string& doing) {
    return ec2_.call(made(action, std::move(parameters), doing), cancel_);
  }

  /// Calls as `call` does; succeeds if the resource is gone already.
  void remove(const std::string& action, Parameters parameters, const std::string& doing) {
    Ec2Call call = made(action, std::move(parameters), doing);
    call.outwaits_use = false;
    call_unless(cloud::FailureKind::not_found, call);
  }

  /// Calls as `call` does; succeeds if it was done before, for example by a call whose answer was
  /// lost.
  void arrange(const std::string& action, Parameters parameters, const std::string& doing) {
    call_unless(cloud::FailureKind::done_already, made(action, std::move(parameters), doing));
  }

  Listed find(const Kind& kind, const Filters& filters) {
    Parameters parameters;
    int n = 0;
    for (const auto& [name, value] : filters)
      add_filter(parameters, ++n, name, {value});
    Listed found{call(kind.listed_by, parameters, std::string("looking for a ") + kind.name), {}};
    found.parts = items(found.document->document_element(), kind.set);
    return found;
  }

  /// Returns the identity of the only match; empty without a match. Throws conflict for several.
  std::string find_one(const Kind& kind, const Filters& filters) {
    const Listed found = find(kind, filters);
    if (found.parts.size() > 1)
      throw Error(ErrorKind::conflict, "aws: " + std::to_string(found.parts.size()) + " " +
                                           kind.name + "s in " + region_ + " have " +
                                           filters.front().first + " " + filters.front().second +
                                           ": the choice is ambiguous");
    return found.empty() ? "" : found.front().child_value(kind.id);
  }

  /// Returns every part with the cluster's mark, or with any cluster's mark for an empty identity.
  /// One question covers all kinds.
  Bearers bearers(const state::ClusterId& cluster) {
    Ec2Call call = made("DescribeTags", {}, "looking for our marked resources");
    add_filter(call.parameters, 1, "resource-type",
               {kGroup.name, kSubnet.name, kGateway.name, kVpc.name, kPlacement.name});
    std::vector<std::string> keys = {std::string(cloud::kClusterTag)};
    if (cluster.value.empty())
      keys.insert(keys.end(), {std::string(cloud::kNameTag), std::string(cloud::kOwnerTag)});
    add_filter(call.parameters, 2, "key", keys);
    if (!cluster.value.empty()) add_filter(call.parameters, 3, "value", {cluster.value});
    Bearers found;
    ec2_.pages(
        call,
        [&](const pugi::xml_node& root) {
          for (const pugi::xml_node& tag : items(root, "tagSet"))
            note(tag, found[tag.child_value("resourceType")][tag.child_value("resourceId")]);
        },
        cancel_);
    return found;
  }

  /// Returns the network interfaces in a VPC, as text: "eni-0a1b of i-0c2d". Each machine, load
  /// balancer, database or mount target in a VPC has one there. Empty if the account may not list
  /// them.
  std::vector<std::string> interfaces_in(const std::string& vpc) {
    Ec2Call call = made("DescribeNetworkInterfaces", {}, "looking for the users of " + vpc);
    add_filter(call.parameters, 1, "vpc-id", {vpc});
    std::vector<std::string> found;
    try {
      ec2_.pages(
          call,
          [&](const pugi::xml_node& root) {
            for (const pugi::xml_node& one : items(root, "networkInterfaceSet"))
              found.push_back(interface_text(one));
          },
          cancel_);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::denied) throw;
    }
    return found;
  }

  const std::string& region() const noexcept { return region_; }

  /// Returns the identity that `look` finds, or that of a new part. These calls have no idempotency
  /// tokens: after a lost answer, `look` is called again before another part is made. The first
  /// look is left out if the part cannot exist yet.
  std::string find_or_make(const std::function<std::string()>& look, const Making& making,
                           const OwnerTags& marks, bool may_be_there) {
    return cloud::find_or_make(
               look, [&] { return make(making, marks); }, wait_, cancel_, may_be_there)
        .id;
  }

 private:
  Ec2Call made(const std::string& action, Parameters parameters, const std::string& doing) const {
    return {region_, action, std::move(parameters), doing + " in " + region_};
  }

  static std::string interface_text(const pugi::xml_node& one) {
    const std::string machine = one.child("attachment").child_value("instanceId");
    const std::string owner = machine.empty() ? one.child_value("description") : machine;
    return std::string(one.child_value("networkInterfaceId")) +
           (owner.empty() ? "" : " of " + owner);
  }

  void call_unless(cloud::FailureKind fine, const Ec2Call& call) {
    const auto failure = ec2_.try_call(call, cancel_);
    if (failure && failure->kind != fine) throw cloud::error_of(*failure, "aws: " + call.doing);
  }

  static void note(const pugi::xml_node& tag, OwnerTags& marks) {
    const std::string_view key = tag.child_value("key");
    const std::string value = tag.child_value("value");
    if (key == cloud::kClusterTag) marks.cluster = {value};
    if (key == cloud::kNameTag) marks.cluster_name = value;
    if (key == cloud::kOwnerTag) marks.owner = value;
  }

  std::string make(const Making& making, const OwnerTags& marks) {
    Ec2Call call = made(making.action, making.parameters, std::string("making a ") + making.type);
    call.is_repeatable = false;
    call.parameters.emplace_back("TagSpecification.1.ResourceType", making.type);
    add_tags(call.parameters, "TagSpecification.1", marks);
    const auto answer = ec2_.call(call, cancel_);
    std::string id = making.id_in(answer->document_element());
    if (id.empty())
      throw Error(ErrorKind::remote,
                  std::string("the answer of aws to ") + making.action + " has no identity");
    return id;
  }

  Ec2& ec2_;
  std::string region_;
  const Wait& wait_;
  const Cancel& cancel_;
};

/// A network that is being made, and the parts that existed before.
struct Work {
  Network& network;
  const NetworkRequest& request;
  const Bearers& there;

  bool may_have(const Kind& kind) const {
    return !request.vpc.empty() || there.contains(kind.name);
  }
};

Filters marked(const state::ClusterId& cluster) {
  return {{"tag:" + std::string(cloud::kClusterTag), cluster.value}};
}

/// Returns the user's own VPC, by id or name. Throws not_found if it is missing.
std::string existing_vpc(Network& network, const std::string& vpc) {
  const bool is_id = vpc.starts_with("vpc-");
  const std::string found = network.find_one(kVpc, {{is_id ? "vpc-id" : "tag:Name", vpc}});
  if (found.empty())
    throw Error(ErrorKind::not_found, "aws: there is no VPC '" + vpc + "' in that region");
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

/// Adds the ranges that the group admits to port 22.
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
  subnet_in({network, request, there}, existing_vpc(network, vpc));
}

Parts AwsCloud::make_network(const NetworkRequest& request, const Cancel& cancel) {
  Network network(ec2_, request.site.region, wait_, cancel);
  const bool is_ours = request.vpc.empty();
  const Bearers there = request.may_be_there ? network.bearers(request.marks.cluster) : Bearers();
  const Work work{network, request, there};
  std::string vpc;
  Gateway out;
  cloud::Tasks first = {
      [&] { vpc = is_ours ? our_vpc(work) : existing_vpc(network, request.vpc); }};
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
  const auto remove = [&](const Kind& kind, const std::string& id) {
    network.remove(kind.removed_by, {{kind.parameter, id}}, "removing " + id);
  };
  const auto& vpcs = there[kVpc.name];
  for (const auto& [id, marks] : vpcs)
    check_is_empty(network, id);
  cloud::Tasks tasks;
  if (there.contains(kPlacement.name))
    tasks.emplace_back([&] { remove_placement_groups(network, cluster); });
  for (const Kind* kind : {&kGroup, &kSubnet})
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
