// The parts of a cluster in Tencent Cloud: a VPC with a subnet for each zone, a security group, and
// for machines with RDMA a high-performance cluster for each zone.
#include <algorithm>
#include <cstdlib>

#include "http/urls.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/range_texts.hpp"
#include "provision/providers/tencent/machines.hpp"
#include "provision/providers/tencent/parts.hpp"
#include "provision/providers/tencent/tencent_cloud.hpp"

namespace fastgpu::provision::tencent {
namespace {

using cloud::NetworkRequest;
using cloud::OwnerTags;
using cloud::Parts;

// Within 10.0.0.0/8 the cloud allows 10.0 to 10.15.
constexpr const char* kVpcRange = "10.7.0.0/16";

std::string our_name(const OwnerTags& marks) {
  return "fastgpu-" + marks.cluster_name + "-" + marks.cluster.value;
}

std::string marked_as(const NetworkRequest& request) {
  return "marked as cluster " + request.marks.cluster.value;
}

/// Returns the user's own VPC, by id or name. Throws not_found if it is missing.
cloud::FoundOrMade existing_vpc(PartsCalls& network, const std::string& region,
                                const std::string& vpc) {
  const char* name = vpc.starts_with("vpc-") ? "vpc-id" : "vpc-name";
  const auto found = network.find(kVpc, {{"Filters", json::array({filter(name, {vpc})})}});
  std::string id = network.only(found, kVpc, "called '" + vpc + "'");
  if (id.empty())
    throw Error(ErrorKind::not_found, "tencent: there is no VPC '" + vpc + "' in " + region);
  return {std::move(id)};
}

cloud::FoundOrMade our_vpc(PartsCalls& network, const NetworkRequest& request) {
  return network.find_or_make(
      kVpc,
      [&] {
        const auto found = network.find_marked(kVpc, request.marks.cluster);
        return network.only(found, kVpc, marked_as(request));
      },
      {{"VpcName", our_name(request.marks)},
       {"CidrBlock", kVpcRange},
       {"Tags", tags_of(request.marks)}},
      request.may_be_there);
}

/// Returns the range of a zone, by its number: 10.7.48.0/20 for ap-guangzhou-3.
std::string subnet_range(const std::string& zone) {
  const unsigned long nth = std::strtoul(zone.c_str() + zone.rfind('-') + 1, nullptr, 10) & 15;
  return "10.7." + std::to_string(nth * 16) + ".0/20";
}

std::string subnet_in(PartsCalls& network, const NetworkRequest& request,
                      const cloud::FoundOrMade& vpc) {
  const auto look = [&]() -> std::string {
    const auto found =
        network.find(kSubnet, {{"Filters", json::array({filter("vpc-id", {vpc.id}),
                                                        filter("zone", {request.site.zone})})}});
    if (!found.empty()) return found.front().id;
    if (request.vpc.empty()) return {};
    throw Error(ErrorKind::not_found, "tencent: " + vpc.id + " has no subnet in " +
                                          request.site.zone + ": make one, or leave --vpc out");
  };
  return network
      .find_or_make(kSubnet, look,
                    {{"VpcId", vpc.id},
                     {"SubnetName", our_name(request.marks)},
                     {"CidrBlock", subnet_range(request.site.zone)},
                     {"Zone", request.site.zone},
                     {"Tags", tags_of(request.marks)}},
                    !vpc.is_new)
      .id;
}

/// Returns the policies of `wanted` that are not among the existing ones.
json missing(const json& wanted, const Answer& there) {
  json policies = json::array();
  for (const json& policy : wanted) {
    const bool is_there = std::ranges::any_of(there.items(), [&](const Answer& other) {
      const Answer one(policy);
      const auto is_same = [&](const char* name) {
        return http::same_word(one[name].text(), other[name].text());
      };
      return is_same("Protocol") && is_same("Port") && is_same("CidrBlock") &&
             is_same("SecurityGroupId") && is_same("Action");
    });
    if (!is_there) policies.push_back(policy);
  }
  return policies;
}

json accept(const char* protocol, const char* port, const char* source, const std::string& who) {
  return {{"Protocol", protocol}, {"Port", port}, {source, who}, {"Action", "ACCEPT"}};
}

json accept_ssh(const IpRange& range) {
  return accept("TCP", "22", "CidrBlock", range.text());
}

/// Admits SSH from the requested addresses, all traffic between the cluster's machines, and all
/// outgoing traffic, because a new group blocks everything.
void open_group(PartsCalls& network, const NetworkRequest& request,
                const cloud::FoundOrMade& group) {
  json in = json::array({accept("ALL", "ALL", "SecurityGroupId", group.id)});
  for (const IpRange& range : request.ssh_from)
    in.push_back(accept_ssh(range));
  const json out = json::array({accept("ALL", "ALL", "CidrBlock", "0.0.0.0/0")});
  const JsonAnswer policies = group.is_new ? JsonAnswer() : network.policies(group.id);
  const Answer there = policies.root();
  network.add_policies(group.id, "Ingress", missing(in, there["Ingress"]));
  network.add_policies(group.id, "Egress", missing(out, there["Egress"]));
}

std::string security_group(PartsCalls& network, const NetworkRequest& request) {
  cloud::FoundOrMade group = network.find_or_make(
      kGroup,
      [&] {
        return network.only(network.find_marked(kGroup, request.marks.cluster), kGroup,
                            marked_as(request));
      },
      {{"GroupName", our_name(request.marks)},
       {"GroupDescription", "Machines of fastgpu cluster " + request.marks.cluster_name},
       {"Tags", tags_of(request.marks)}},
      request.may_be_there);
  open_group(network, request, group);
  return group.id;
}

std::string hpc_cluster(PartsCalls& network, const NetworkRequest& request) {
  const std::string& zone = request.site.zone;
  return network
      .find_or_make(
          kHpc,
          [&] {
            return network.only(network.find_marked(kHpc, request.marks.cluster, {{"Zone", zone}}),
                                kHpc, marked_as(request));
          },
          {{"Zone", zone},
           {"Name", our_name(request.marks)},
           {"TagSpecification",
            json::array({{{"ResourceType", "hpc"}, {"Tags", tags_of(request.marks)}}})}},
          request.may_be_there)
      .id;
}

}  // namespace

void TencentCloud::check_network(const cloud::Site& site, const std::string& vpc,
                                 const Cancel& cancel) {
  PartsCalls network(api_, wait_, site.region, cancel);
  subnet_in(network, {.site = site, .vpc = vpc}, existing_vpc(network, site.region, vpc));
}

std::vector<IpRange> TencentCloud::open_ranges(const NetworkRequest& request,
                                               const Cancel& cancel) {
  PartsCalls network(api_, wait_, request.site.region, cancel);
  std::vector<IpRange> ranges;
  for (const FoundPart& group : network.find_marked(kGroup, request.marks.cluster)) {
    const JsonAnswer policies = network.policies(group.id);
    for (const Answer& policy : policies["Ingress"].items())
      if (http::same_word(policy["Protocol"].text(), "tcp"))
        cloud::add_range(ranges, policy["CidrBlock"].text());
  }
  return ranges;
}

void TencentCloud::close_ranges(const NetworkRequest& request, const Cancel& cancel) {
  PartsCalls network(api_, wait_, request.site.region, cancel);
  for (const FoundPart& group : network.find_marked(kGroup, request.marks.cluster)) {
    const JsonAnswer there = network.policies(group.id);
    for (const IpRange& range : request.ssh_from) {
      const json policies = json::array({accept_ssh(range)});
      if (missing(policies, there["Ingress"]).empty())
        network.remove_policies(group.id, "Ingress", policies);
    }
  }
}

Parts TencentCloud::make_network(const NetworkRequest& request, const Cancel& cancel) {
  PartsCalls network(api_, wait_, request.site.region, cancel);
  std::string vpc;
  std::string subnet;
  std::string group;
  std::string hpc;
  cloud::Tasks tasks = {[&] {
                          const auto found =
                              request.vpc.empty()
                                  ? our_vpc(network, request)
                                  : existing_vpc(network, request.site.region, request.vpc);
                          vpc = found.id;
                          subnet = subnet_in(network, request, found);
                        },
                        [&] { group = security_group(network, request); }};
  if (request.close_together) tasks.emplace_back([&] { hpc = hpc_cluster(network, request); });
  cloud::at_once(tasks);
  Parts parts = {{"vpc", vpc}, {"subnet", subnet}, {"security-group", group}};
  if (request.close_together) parts["hpc-cluster"] = hpc;
  return parts;
}

void TencentCloud::remove_network(const std::string& region, const state::ClusterId& cluster,
                                  const Parts& /*known*/) {
  PartsCalls network(api_, wait_, region, never_);
  const auto remove_all = [&](const Kind& kind) {
    for (const FoundPart& part : network.find_marked(kind, cluster))
      network.remove(kind, part.id);
  };
  cloud::at_once({[&] { remove_all(kHpc); }, [&] { remove_all(kGroup); },
                  [&] {
                    remove_all(kSubnet);
                    remove_all(kVpc);
                  }});
}

std::vector<cloud::CloudPart> TencentCloud::parts(const std::string& region, const Cancel& cancel) {
  PartsCalls network(api_, wait_, region, cancel);
  std::vector<cloud::CloudPart> found;
  for (const Kind* kind : {&kHpc, &kGroup, &kSubnet, &kVpc})
    for (FoundPart& part : network.find_marked(*kind, {}))
      found.push_back({kind->name, std::move(part.id), std::move(part.marks)});
  return found;
}

}  // namespace fastgpu::provision::tencent
