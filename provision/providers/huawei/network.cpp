// The parts of a cluster in Huawei Cloud: a VPC with a subnet, and a security group. Lists do not
// show tags of such parts. The marks are in their names, and also in the descriptions of kinds that
// have one, because a name can be changed.
#include <algorithm>

#include "base/contains.hpp"
#include "provision/cloud/at_once.hpp"
#include "provision/cloud/find_or_make.hpp"
#include "provision/cloud/range_texts.hpp"
#include "provision/polling.hpp"
#include "provision/providers/huawei/huawei_cloud.hpp"

namespace fastgpu::provision::huawei {
namespace {

using namespace std::chrono_literals;
using cloud::Answer;
using cloud::NetworkRequest;
using cloud::OwnerTags;
using cloud::Parts;

constexpr const char* kVpcRange = "10.77.0.0/16";
constexpr const char* kSubnetRange = "10.77.0.0/20";
constexpr const char* kGateway = "10.77.0.1";

constexpr std::string_view kPrefix = "fastgpu-";
constexpr std::size_t kLongestName = 64;

/// The calls that list and make one kind of part.
struct Kind {
  const char* name;      ///< The name of the kind in fastgpu.
  const char* noun;      ///< The word for it in the names of actions.
  const char* path;      ///< The path below "/v1/{project}/".
  const char* list;      ///< The member of the answer with the list.
  const char* one;       ///< The member with one part, in answers and requests.
  const char* is_ready;  ///< The status of a usable part; null: usable at once.
};

constexpr Kind kGroup = {"security-group",  "SecurityGroup",  "security-groups",
                         "security_groups", "security_group", nullptr};
constexpr Kind kSubnet = {"subnet", "Subnet", "subnets", "subnets", "subnet", "ACTIVE"};
constexpr Kind kVpc = {"vpc", "Vpc", "vpcs", "vpcs", "vpc", "OK"};

/// Returns "fastgpu-<cluster>-<owner>-<name>", with the name cut if it is too long. The other parts
/// have no '-'.
std::string our_name(const OwnerTags& marks) {
  const std::string name =
      std::string(kPrefix) + marks.cluster.value + "-" + marks.owner + "-" + marks.cluster_name;
  return name.substr(0, kLongestName);
}

/// Returns the marks; empty ones for a name that is not ours.
OwnerTags marks_in_name(const std::string& name) {
  if (!name.starts_with(kPrefix)) return {};
  const std::string rest = name.substr(kPrefix.size());
  const auto first = rest.find('-');
  const auto second = first == std::string::npos ? first : rest.find('-', first + 1);
  if (second == std::string::npos) return {};
  return {.cluster = {rest.substr(0, first)},
          .cluster_name = rest.substr(second + 1),
          .owner = rest.substr(first + 1, second - first - 1)};
}

OwnerTags marks_in(const Answer& part) {
  OwnerTags marks = marks_in_name(part["name"].text());
  return marks.cluster.value.empty() ? marks_in_name(part["description"].text()) : marks;
}

/// Returns true if a part is the cluster's, by its marks or by the record.
bool is_of(const Kind& kind, const Answer& part, const state::ClusterId& cluster,
           const Parts& known) {
  const auto recorded = known.find(kind.name);
  const bool is_recorded = recorded != known.end() && recorded->second == part["id"].text();
  return is_recorded || marks_in(part).cluster == cluster;
}

/// Returns true if a group admits what `rule` does: the same protocol, range and group.
bool allows(const Answer& group, const json& rule) {
  const auto rules = group["security_group_rules"].items();
  return std::ranges::any_of(rules, [&](const Answer& there) {
    const auto is_alike = [&](const char* key) {
      return there[key].text() == Answer(rule)[key].text();
    };
    return there["direction"].text() == "ingress" && there["ethertype"].text() != "IPv6" &&
           is_alike("remote_group_id") && is_alike("remote_ip_prefix") && is_alike("protocol");
  });
}

struct FoundPart {
  JsonAnswer part;
  bool is_new = false;  ///< True for a part that must be empty.
};

/// A finder and maker of parts in one region. Several threads may use one.
class Network {
 public:
  Network(Api& api, std::string region, const Wait& wait, const Cancel& cancel)
      : api_(api), region_(std::move(region)), wait_(wait), cancel_(cancel) {}

  std::vector<JsonAnswer> list(const Kind& kind, http::Parameters query = {}) {
    return api_.list({.service = "vpc",
                      .region = region_,
                      .action = std::string("List") + kind.noun + "s",
                      .path = path_of(kind),
                      .query = std::move(query),
                      .doing = std::string("looking for a ") + kind.name + " in " + region_},
                     kind.list, cancel_);
  }

  /// Returns the part whose member `key` is `value`; null without one. Throws conflict for several.
  JsonAnswer find_one(const Kind& kind, const char* key, const std::string& value) {
    std::vector<JsonAnswer> found = list(kind);
    std::erase_if(found, [&](const JsonAnswer& part) { return part[key].text() != value; });
    if (found.size() > 1)
      throw Error(ErrorKind::conflict, "huawei: " + std::to_string(found.size()) + " " + kind.name +
                                           "s in " + region_ + " have the " + key + " " + value +
                                           ": the choice is ambiguous");
    return found.empty() ? JsonAnswer() : found.front();
  }

  /// Returns the cluster's part, whichever of its owners made it; null without one. Throws conflict
  /// for several.
  JsonAnswer find_ours(const Kind& kind, const NetworkRequest& request) {
    std::vector<JsonAnswer> found = list(kind);
    std::erase_if(found, [&](const JsonAnswer& part) {
      return !is_of(kind, part, request.marks.cluster, request.known);
    });
    if (found.size() > 1)
      throw Error(ErrorKind::conflict, "huawei: " + std::to_string(found.size()) + " " + kind.name +
                                           "s in " + region_ + " are marked as cluster " +
                                           request.marks.cluster.value +
                                           ": the choice is ambiguous");
    return found.empty() ? JsonAnswer() : found.front();
  }

  /// Returns the part that `look` finds, or one made from `request`. These calls have no
  /// idempotency tokens: after a lost answer, `look` is called again before another part is made.
  /// The first look is left out if the part cannot exist yet.
  FoundPart find_or_make(const Kind& kind, const std::function<JsonAnswer()>& look,
                         const json& request, bool may_be_there = true) {
    JsonAnswer part;
    const auto id_of = [&](JsonAnswer found) {
      part = std::move(found);
      return part["id"].text();
    };
    const auto done = cloud::find_or_make([&] { return id_of(look()); },
                                          [&] { return id_of(make(kind, request)); }, wait_,
                                          cancel_, may_be_there);
    return {std::move(part), done.is_new};
  }

  /// Waits until a part can be used, and returns its id.
  std::string await(const Kind& kind, JsonAnswer part) {
    constexpr std::chrono::milliseconds kLongestPause = 1s;
    constexpr int kLooks = 120;
    std::chrono::milliseconds pause = 200ms;
    const std::string id = part["id"].text();
    for (int look = 0; part["status"].text() != kind.is_ready; ++look) {
      if (part["status"].text() == "ERROR" || look == kLooks)
        throw Error(ErrorKind::remote, std::string("huawei: the ") + kind.name + " " + id +
                                           " does not become " + kind.is_ready);
      wait_(pause, cancel_);
      pause = std::min(pause * 2, kLongestPause);
      cancel_.check();
      JsonAnswer answer = api_.call({.service = "vpc",
                                     .region = region_,
                                     .action = std::string("Show") + kind.noun,
                                     .path = path_of(kind) + "/" + http::percent_encode(id),
                                     .holds = kind.one,
                                     .doing = std::string("waiting for ") + kind.name + " " + id},
                                    cancel_);
      part = answer.take(kind.one);
    }
    return id;
  }

  void remove(const Kind& kind, const JsonAnswer& part) {
    const std::string id = http::percent_encode(part["id"].text());
    std::string path = path_of(kind) + "/" + id;
    if (kind.one == kSubnet.one)
      path = path_of(kVpc) + "/" + http::percent_encode(part["vpc_id"].text()) + "/subnets/" + id;
    const HuaweiCall call{.service = "vpc",
                          .region = region_,
                          .action = std::string("Delete") + kind.noun,
                          .method = "DELETE",
                          .path = path,
                          .doing = std::string("removing ") + kind.name + " " + id,
                          .outwaits_use = false};
    const auto reply = api_.try_call(call, cancel_);
    const auto* failure = std::get_if<cloud::Failure>(&reply);
    if (failure != nullptr && failure->kind != cloud::FailureKind::not_found)
      throw cloud::error_of(*failure, "huawei: " + call.doing);
  }

  /// Adds `rule` to the group unless it is there. After a lost answer, looks again.
  void allow(const std::string& group, json rule) {
    rule.update({{"security_group_id", group}, {"direction", "ingress"}, {"ethertype", "IPv4"}});
    const auto look = [&]() -> std::string {
      return allows(find_one(kGroup, "id", group), rule) ? group : "";
    };
    const auto make = [&] {
      api_.call({.service = "vpc",
                 .region = region_,
                 .action = "CreateSecurityGroupRule",
                 .method = "POST",
                 .path = "/v1/{project}/security-group-rules",
                 .body = {{"security_group_rule", rule}},
                 .doing = "opening the security group " + group,
                 .is_repeatable = false},
                cancel_);
      return group;
    };
    cloud::find_or_make(look, make, wait_, cancel_, false);
  }

  /// Removes a rule of a group. Succeeds for one that is gone already.
  void forbid(const std::string& rule) {
    const HuaweiCall call{
        .service = "vpc",
        .region = region_,
        .action = "DeleteSecurityGroupRule",
        .method = "DELETE",
        .path = "/v1/{project}/security-group-rules/" + http::percent_encode(rule),
        .doing = "closing the security group"};
    const auto reply = api_.try_call(call, cancel_);
    const auto* failure = std::get_if<cloud::Failure>(&reply);
    if (failure != nullptr && failure->kind != cloud::FailureKind::not_found)
      throw cloud::error_of(*failure, "huawei: " + call.doing);
  }

 private:
  JsonAnswer make(const Kind& kind, const json& request) {
    JsonAnswer answer = api_.call({.service = "vpc",
                                   .region = region_,
                                   .action = std::string("Create") + kind.noun,
                                   .method = "POST",
                                   .path = path_of(kind),
                                   .body = {{kind.one, request}},
                                   .holds = kind.one,
                                   .doing = std::string("making a ") + kind.name + " in " + region_,
                                   .is_repeatable = false},
                                  cancel_);
    JsonAnswer made = answer.take(kind.one);
    if (made["id"].text().empty())
      throw Error(ErrorKind::remote,
                  std::string("huawei: the new ") + kind.name + " comes without its id");
    return made;
  }

  static std::string path_of(const Kind& kind) { return std::string("/v1/{project}/") + kind.path; }

  Api& api_;
  std::string region_;
  const Wait& wait_;
  const Cancel& cancel_;
};

/// Returns the user's own VPC, by id or name. Throws not_found if it is missing.
cloud::FoundOrMade existing_vpc(Network& network, const std::string& region,
                                const std::string& vpc) {
  JsonAnswer found = network.find_one(kVpc, "id", vpc);
  if (found.root().is_null()) found = network.find_one(kVpc, "name", vpc);
  if (found.root().is_null())
    throw Error(ErrorKind::not_found, "huawei: there is no VPC '" + vpc + "' in " + region);
  return {found["id"].text()};
}

cloud::FoundOrMade our_vpc(Network& network, const NetworkRequest& request) {
  FoundPart vpc = network.find_or_make(
      kVpc, [&] { return network.find_ours(kVpc, request); },
      {{"name", our_name(request.marks)},
       {"description", our_name(request.marks)},
       {"cidr", kVpcRange}},
      request.may_be_there);
  return {network.await(kVpc, std::move(vpc.part)), vpc.is_new};
}

/// Returns the VPC's subnet, which covers all zones of the region.
std::string subnet_in(Network& network, const NetworkRequest& request,
                      const cloud::FoundOrMade& vpc) {
  const auto look = [&]() -> JsonAnswer {
    const std::vector<JsonAnswer> found = network.list(kSubnet, {{"vpc_id", vpc.id}});
    if (!found.empty()) return found.front();
    if (request.vpc.empty()) return {};
    throw Error(ErrorKind::not_found,
                "huawei: " + request.vpc + " has no subnet: make one, or leave --vpc out");
  };
  FoundPart subnet = network.find_or_make(kSubnet, look,
                                          {{"name", our_name(request.marks)},
                                           {"description", our_name(request.marks)},
                                           {"vpc_id", vpc.id},
                                           {"cidr", kSubnetRange},
                                           {"gateway_ip", kGateway}},
                                          !vpc.is_new);
  return network.await(kSubnet, std::move(subnet.part));
}

/// Returns true for a rule that admits a range to port 22.
bool is_ssh_rule(const Answer& rule) {
  return rule["direction"].text() == "ingress" && rule["protocol"].text() == "tcp";
}

/// Makes the group. Admits SSH from the requested addresses, and all traffic between the cluster's
/// machines.
std::string security_group(Network& network, const NetworkRequest& request) {
  const JsonAnswer group = network
                               .find_or_make(
                                   kGroup, [&] { return network.find_ours(kGroup, request); },
                                   {{"name", our_name(request.marks)}}, request.may_be_there)
                               .part;
  const std::string id = group["id"].text();
  std::vector<json> wanted = {{{"remote_group_id", id}}};
  for (const IpRange& range : request.ssh_from)
    wanted.push_back({{"protocol", "tcp"},
                      {"port_range_min", 22},
                      {"port_range_max", 22},
                      {"remote_ip_prefix", range.text()}});
  cloud::Tasks rules;
  for (const json& rule : wanted)
    if (!allows(group, rule)) rules.emplace_back([&] { network.allow(id, rule); });
  cloud::at_once(rules);
  return id;
}

}  // namespace

void HuaweiCloud::check_network(const cloud::Site& site, const std::string& vpc,
                                const Cancel& cancel) {
  Network network(api_, site.region, wait_, cancel);
  subnet_in(network, {.site = site, .vpc = vpc}, existing_vpc(network, site.region, vpc));
}

Parts HuaweiCloud::make_network(const NetworkRequest& request, const Cancel& cancel) {
  Network network(api_, request.site.region, wait_, cancel);
  std::string vpc;
  std::string subnet;
  std::string group;
  cloud::at_once({[&] {
                    const auto found =
                        request.vpc.empty()
                            ? our_vpc(network, request)
                            : existing_vpc(network, request.site.region, request.vpc);
                    vpc = found.id;
                    subnet = subnet_in(network, request, found);
                  },
                  [&] { group = security_group(network, request); }});
  return {{"vpc", vpc}, {"subnet", subnet}, {"security-group", group}};
}

std::vector<IpRange> HuaweiCloud::open_ranges(const NetworkRequest& request, const Cancel& cancel) {
  Network network(api_, request.site.region, wait_, cancel);
  const JsonAnswer group = network.find_ours(kGroup, request);
  std::vector<IpRange> ranges;
  for (const Answer& rule : group["security_group_rules"].items())
    if (is_ssh_rule(rule)) cloud::add_range(ranges, rule["remote_ip_prefix"].text());
  return ranges;
}

void HuaweiCloud::close_ranges(const NetworkRequest& request, const Cancel& cancel) {
  Network network(api_, request.site.region, wait_, cancel);
  const JsonAnswer group = network.find_ours(kGroup, request);
  for (const Answer& rule : group["security_group_rules"].items()) {
    std::vector<IpRange> its;
    if (is_ssh_rule(rule)) cloud::add_range(its, rule["remote_ip_prefix"].text());
    if (!its.empty() && contains(request.ssh_from, its.front())) network.forbid(rule["id"].text());
  }
}

void HuaweiCloud::remove_network(const std::string& region, const state::ClusterId& cluster,
                                 const Parts& known) {
  Network network(api_, region, wait_, never_);
  const auto remove_all = [&](const Kind& kind) {
    for (const JsonAnswer& part : network.list(kind))
      if (is_of(kind, part, cluster, known)) network.remove(kind, part);
  };
  cloud::at_once({[&] { remove_all(kGroup); },
                  [&] {
                    remove_all(kSubnet);
                    remove_all(kVpc);
                  }});
}

std::vector<cloud::CloudPart> HuaweiCloud::parts(const std::string& region, const Cancel& cancel) {
  Network network(api_, region, wait_, cancel);
  std::vector<cloud::CloudPart> found;
  for (const Kind& kind : {kGroup, kSubnet, kVpc})
    for (const JsonAnswer& part : network.list(kind))
      if (OwnerTags marks = marks_in(part); !marks.cluster.value.empty())
        found.push_back({kind.name, part["id"].text(), std::move(marks)});
  return found;
}

}  // namespace fastgpu::provision::huawei
