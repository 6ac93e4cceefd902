// The parts of a cluster in Alibaba Cloud: a VPC with a vSwitch for each zone, a security group,
// and for machines that need it a high-performance cluster or a deployment set.
#include <algorithm>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/find_or_make.hpp"
#include "provision/cloud/range_texts.hpp"
#include "provision/ids.hpp"
#include "provision/providers/alibaba/alibaba_cloud.hpp"
#include "provision/providers/alibaba/hpc.hpp"
#include "provision/providers/alibaba/machines.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using namespace std::chrono_literals;
using cloud::NetworkRequest;
using cloud::Parts;

constexpr const char* kVpcRange = "10.77.0.0/16";

/// The calls that list and remove one kind of part.
struct Kind {
  const char* name;     ///< The name of the kind in fastgpu.
  const char* service;  ///< The service that has the calls.
  const char* listed_by;
  const char* list;  ///< The member of the answer with the list.
  const char* item;  ///< The member of that with the items.
  const char* id;    ///< The member and parameter with the identity.
  const char* removed_by;
  std::pair<const char*, const char*> page;  ///< The parameter for full pages.
  /// The member with our marks; null for a kind that has tags.
  const char* description = nullptr;
};

constexpr Kind kGroup = {"security-group",         "ecs",
                         "DescribeSecurityGroups", "SecurityGroups",
                         "SecurityGroup",          "SecurityGroupId",
                         "DeleteSecurityGroup",    {"MaxResults", "100"}};
constexpr Kind kVSwitch = {"vswitch", "vpc",       "DescribeVSwitches", "VSwitches",
                           "VSwitch", "VSwitchId", "DeleteVSwitch",     {"PageSize", "50"}};
constexpr Kind kVpc = {"vpc", "vpc",   "DescribeVpcs", "Vpcs",
                       "Vpc", "VpcId", "DeleteVpc",    {"PageSize", "50"}};

constexpr Kind kHpc = {"hpc-cluster", "ecs",          "DescribeHpcClusters", "HpcClusters",
                       "HpcCluster",  "HpcClusterId", "DeleteHpcCluster",    {"PageSize", "50"},
                       "Description"};
constexpr Kind kSet = {"deployment-set",          "ecs",
                       "DescribeDeploymentSets",  "DeploymentSets",
                       "DeploymentSet",           "DeploymentSetId",
                       "DeleteDeploymentSet",     {"PageSize", "50"},
                       "DeploymentSetDescription"};
constexpr const char* kClose = "LowLatency";  ///< The strategy of our deployment sets.

/// The facts about one part of any kind.
struct Found {
  std::string id;
  std::string status;
  cloud::OwnerTags marks;
};

cloud::OwnerTags marks_of(const Kind& kind, const Answer& item) {
  return kind.description == nullptr ? marks_in(item)
                                     : marks_in_description(item[kind.description].text());
}

/// A finder and maker of parts in one region. Several threads may use one.
class Network {
 public:
  Network(AlibabaApi& api, std::string region, const Cancel& cancel)
      : api_(api), region_(std::move(region)), cancel_(cancel) {}

  std::vector<Found> find(const Kind& kind, Parameters filters) {
    filters.insert(filters.begin(), kind.page);
    std::vector<Found> found;
    api_.pages(
        {kind.service, region_, kind.listed_by, std::move(filters),
         std::string("looking for a ") + kind.name + " in " + region_},
        [&](const Answer& page) {
          for (const Answer& item : page[kind.list][kind.item].items())
            if (const std::string id = item[kind.id].text(); !id.empty())
              found.push_back({id, item["Status"].text(), marks_of(kind, item)});
        },
        cancel_);
    return found;
  }

  /// Returns the identity of the only match; empty without a match. Throws conflict for several.
  std::string find_one(const Kind& kind, const Parameters& filters, const std::string& what) {
    const auto found = find(kind, filters);
    if (found.size() > 1)
      throw Error(ErrorKind::conflict, "alibaba: " + std::to_string(found.size()) + " " +
                                           kind.name + "s in " + region_ + " are " + what +
                                           ": the choice is ambiguous");
    return found.empty() ? "" : found.front().id;
  }

  cloud::JsonAnswer call(const char* service, const std::string& action, Parameters parameters,
                         const std::string& doing) {
    return api_.call({service, region_, action, std::move(parameters), doing + " in " + region_},
                     cancel_);
  }

  /// Makes a part and returns its identity. An attempt whose answer was lost is found again by the
  /// token.
  std::string make(const Kind& kind, const std::string& action, Parameters parameters,
                   const cloud::OwnerTags& marks) {
    parameters.emplace_back("ClientToken", new_token());
    add_tags(parameters, marks);
    const auto answer =
        call(kind.service, action, std::move(parameters), std::string("making a ") + kind.name);
    std::string id = Answer(answer)[kind.id].text();
    if (id.empty())
      throw Error(ErrorKind::remote, "the answer of alibaba to " + action + " has no identity");
    return id;
  }

 private:
  AlibabaApi& api_;
  std::string region_;
  const Cancel& cancel_;
};

Parameters marked(const state::ClusterId& cluster) {
  Parameters filters;
  add_tag_filter(filters, cluster);
  return filters;
}

std::string our_name(const cloud::OwnerTags& marks) {
  return "fastgpu-" + marks.cluster_name + "-" + marks.cluster.value;
}

/// Returns the user's own VPC, by id or name. Throws not_found if it is missing.
cloud::FoundOrMade existing_vpc(Network& network, const std::string& region,
                                const std::string& vpc) {
  const char* filter = vpc.starts_with("vpc-") ? "VpcId" : "VpcName";
  const std::string found = network.find_one(kVpc, {{filter, vpc}}, "called '" + vpc + "'");
  if (found.empty())
    throw Error(ErrorKind::not_found, "alibaba: there is no VPC '" + vpc + "' in " + region);
  return {found};
}

cloud::FoundOrMade our_vpc(Network& network, const NetworkRequest& request) {
  std::string vpc;
  if (request.may_be_there)
    vpc = network.find_one(kVpc, marked(request.marks.cluster),
                           "marked as cluster " + request.marks.cluster.value);
  if (!vpc.empty()) return {vpc};
  return {
      network.make(kVpc, "CreateVpc",
                   {{"CidrBlock", kVpcRange}, {"VpcName", our_name(request.marks)}}, request.marks),
      true};
}

/// Returns the range of a zone, by its last letter: 10.77.0.0/20 for a, 10.77.16.0/20 for b.
std::string vswitch_range(const std::string& zone) {
  const int nth = zone.empty() ? 0 : (zone.back() - 'a') & 15;
  return "10.77." + std::to_string(nth * 16) + ".0/20";
}

std::string vswitch_in(Network& network, const NetworkRequest& request,
                       const cloud::FoundOrMade& vpc) {
  std::vector<Found> found;
  if (!vpc.is_new)
    found = network.find(kVSwitch, {{"VpcId", vpc.id}, {"ZoneId", request.site.zone}});
  if (!found.empty()) return found.front().id;
  if (!request.vpc.empty())
    throw Error(ErrorKind::not_found, "alibaba: " + vpc.id + " has no vSwitch in " +
                                          request.site.zone + ": make one, or leave --vpc out");
  return network.make(kVSwitch, "CreateVSwitch",
                      {{"VpcId", vpc.id},
                       {"CidrBlock", vswitch_range(request.site.zone)},
                       {"ZoneId", request.site.zone},
                       {"VSwitchName", our_name(request.marks)}},
                      request.marks);
}

/// The source that a rule admits, and the protocol.
using OpenPort = std::pair<std::string, std::string>;

std::vector<OpenPort> ways_into(Network& network, const std::string& group) {
  const auto answer = network.call("ecs", "DescribeSecurityGroupAttribute",
                                   {{"SecurityGroupId", group}, {"Direction", "ingress"}},
                                   "looking at the security group");
  std::vector<OpenPort> ways;
  for (const Answer& rule : Answer(answer)["Permissions"]["Permission"].items()) {
    const std::string other = rule["SourceGroupId"].text();
    ways.emplace_back(ascii_lower(rule["IpProtocol"].text()),
                      other.empty() ? rule["SourceCidrIp"].text() : other);
  }
  return ways;
}

/// Adds rule number `n`, which admits `way`.
void add_rule(Parameters& rules, int n, const OpenPort& way) {
  const bool is_ssh = way.first == "tcp";
  const std::string rule = "Permissions." + std::to_string(n) + ".";
  rules.emplace_back(rule + "IpProtocol", is_ssh ? "TCP" : "ALL");
  rules.emplace_back(rule + "PortRange", is_ssh ? "22/22" : "-1/-1");
  rules.emplace_back(rule + (is_ssh ? "SourceCidrIp" : "SourceGroupId"), way.second);
  rules.emplace_back(rule + "Policy", "accept");
  rules.emplace_back(rule + "Priority", "1");
}

/// Admits SSH from the requested addresses, and all traffic between the cluster's machines.
void open_group(Network& network, const NetworkRequest& request, const cloud::FoundOrMade& group) {
  std::vector<OpenPort> there;
  if (!group.is_new) there = ways_into(network, group.id);
  Parameters rules = {{"SecurityGroupId", group.id}};
  int n = 0;
  const auto add = [&](const OpenPort& way) {
    if (!contains(there, way)) add_rule(rules, ++n, way);
  };
  add({"all", group.id});
  for (const IpRange& range : request.ssh_from)
    add({"tcp", range.text()});
  if (n > 0)
    network.call("ecs", "AuthorizeSecurityGroup", std::move(rules), "opening the security group");
}

std::string security_group(Network& network, const NetworkRequest& request,
                           const cloud::FoundOrMade& vpc) {
  cloud::FoundOrMade group;
  if (!vpc.is_new) {
    Parameters filters = marked(request.marks.cluster);
    filters.emplace_back("VpcId", vpc.id);
    group.id =
        network.find_one(kGroup, filters, "marked as cluster " + request.marks.cluster.value);
  }
  if (group.id.empty())
    group = {
        network.make(kGroup, "CreateSecurityGroup",
                     {{"VpcId", vpc.id},
                      {"SecurityGroupName", our_name(request.marks)},
                      {"SecurityGroupType", "normal"},
                      {"Description", "Machines of fastgpu cluster " + request.marks.cluster_name}},
                     request.marks),
        true};
  open_group(network, request, group);
  return group.id;
}

/// Returns the parts of a cluster or, for an empty identity, of any cluster, and the one in
/// `known`, whose description may have changed. Empty if the account may not list them.
std::vector<Found> find_described(Network& network, const Kind& kind,
                                  const state::ClusterId& cluster, const Parts& known) {
  std::vector<Found> found;
  try {
    found = network.find(kind, {});
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::denied) throw;
  }
  const auto recorded = known.find(kind.name);
  std::erase_if(found, [&](const Found& part) {
    if (recorded != known.end() && part.id == recorded->second) return false;
    return part.marks.cluster.value.empty() ||
           (!cluster.value.empty() && part.marks.cluster != cluster);
  });
  return found;
}

std::string hpc_cluster(Network& network, const NetworkRequest& request) {
  const auto found = find_described(network, kHpc, request.marks.cluster, request.known);
  if (!found.empty()) return found.front().id;
  const auto answer = network.call("ecs", "CreateHpcCluster",
                                   {{"Name", our_name(request.marks)},
                                    {"Description", description_of(request.marks)},
                                    {"ClientToken", new_token()}},
                                   "making a high-performance cluster");
  return Answer(answer)["HpcClusterId"].text();
}

/// Returns the deployment set; empty if machines of that type cannot be in one.
std::string deployment_set(Network& network, const NetworkRequest& request) {
  const auto found = find_described(network, kSet, request.marks.cluster, request.known);
  if (!found.empty()) return found.front().id;
  const auto supported =
      network.call("ecs", "DescribeDeploymentSetSupportedInstanceTypeFamily",
                   {{"Strategy", kClose}}, "asking which types can be close together");
  if (!names_family_of(Answer(supported)["InstanceTypeFamilies"].text(), request.type)) return {};
  const auto answer = network.call("ecs", "CreateDeploymentSet",
                                   {{"DeploymentSetName", our_name(request.marks)},
                                    {"Description", description_of(request.marks)},
                                    {"Strategy", kClose},
                                    {"ClientToken", new_token()}},
                                   "making a deployment set");
  return Answer(answer)["DeploymentSetId"].text();
}

}  // namespace

void AlibabaCloud::check_network(const cloud::Site& site, const std::string& vpc,
                                 const Cancel& cancel) {
  Network network(api_, site.region, cancel);
  vswitch_in(network, {.site = site, .vpc = vpc}, existing_vpc(network, site.region, vpc));
}

Parts AlibabaCloud::make_network(const NetworkRequest& request, const Cancel& cancel) {
  Network network(api_, request.site.region, cancel);
  // A new part is pending for some seconds, and nothing can be put into it.
  const auto await = [&](const Kind& kind, const std::string& id) {
    constexpr int kLooks = 60;
    for (int look = 1; look <= kLooks; ++look) {
      const auto found = network.find(kind, {{kind.id, id}});
      if (!found.empty() && found.front().status == "Available") return;
      wait_(look < 5 ? 200ms : 1000ms, cancel);
      cancel.check();
    }
    throw Error(ErrorKind::timeout, "alibaba: " + id + " is not available after a minute");
  };
  const auto vpc = request.vpc.empty() ? our_vpc(network, request)
                                       : existing_vpc(network, request.site.region, request.vpc);
  await(kVpc, vpc.id);
  std::string vswitch;
  std::string group;
  std::string hpc;
  std::string set;
  cloud::Tasks tasks = {[&] {
                          vswitch = vswitch_in(network, request, vpc);
                          await(kVSwitch, vswitch);
                        },
                        [&] { group = security_group(network, request, vpc); }};
  if (needs_hpc_cluster(request.type))
    tasks.emplace_back([&] { hpc = hpc_cluster(network, request); });
  else if (request.close_together)
    tasks.emplace_back([&] { set = deployment_set(network, request); });
  cloud::at_once(tasks);
  Parts parts = {{"vpc", vpc.id}, {"vswitch", vswitch}, {"security-group", group}};
  if (!hpc.empty()) parts["hpc-cluster"] = hpc;
  if (!set.empty()) parts["deployment-set"] = set;
  return parts;
}

std::vector<IpRange> AlibabaCloud::open_ranges(const NetworkRequest& request,
                                               const Cancel& cancel) {
  Network network(api_, request.site.region, cancel);
  std::vector<IpRange> ranges;
  for (const Found& group : network.find(kGroup, marked(request.marks.cluster)))
    for (const auto& [protocol, source] : ways_into(network, group.id))
      if (protocol == "tcp") cloud::add_range(ranges, source);
  return ranges;
}

void AlibabaCloud::close_ranges(const NetworkRequest& request, const Cancel& cancel) {
  Network network(api_, request.site.region, cancel);
  for (const Found& group : network.find(kGroup, marked(request.marks.cluster))) {
    Parameters rules = {{"SecurityGroupId", group.id}};
    int n = 0;
    for (const IpRange& range : request.ssh_from)
      add_rule(rules, ++n, {"tcp", range.text()});
    if (n > 0)
      network.call("ecs", "RevokeSecurityGroup", std::move(rules), "closing the security group");
  }
}

void AlibabaCloud::remove_network(const std::string& region, const state::ClusterId& cluster,
                                  const Parts& known) {
  Network network(api_, region, never_);
  const auto remove_these = [&](const Kind& kind, const std::vector<Found>& parts) {
    for (const Found& part : parts) {
      const std::string doing = "removing " + part.id;
      const auto failure = api_.try_call({.service = kind.service,
                                          .region = region,
                                          .action = kind.removed_by,
                                          .parameters = {{kind.id, part.id}},
                                          .doing = doing,
                                          .outwaits_use = false},
                                         never_);
      if (failure && failure->kind != cloud::FailureKind::not_found)
        throw cloud::error_of(*failure, "alibaba: " + doing);
    }
  };
  const auto remove_all = [&](const Kind& kind) {
    remove_these(kind, network.find(kind, marked(cluster)));
  };
  cloud::at_once({[&] { remove_all(kGroup); }, [&] { remove_all(kVSwitch); },
                  [&] { remove_these(kHpc, find_described(network, kHpc, cluster, known)); },
                  [&] { remove_these(kSet, find_described(network, kSet, cluster, known)); }});
  remove_all(kVpc);
}

std::vector<cloud::CloudPart> AlibabaCloud::parts(const std::string& region, const Cancel& cancel) {
  Network network(api_, region, cancel);
  std::vector<cloud::CloudPart> found;
  for (const Kind& kind : {kHpc, kSet, kGroup, kVSwitch, kVpc})
    for (Found& part : kind.description == nullptr ? network.find(kind, marked({}))
                                                   : find_described(network, kind, {}, {}))
      found.push_back({kind.name, std::move(part.id), std::move(part.marks)});
  return found;
}

}  // namespace fastgpu::provision::alibaba
