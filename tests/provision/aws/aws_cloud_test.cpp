// AWS behind the interface of all clouds: what is asked, and what answers are taken for.
#include "provision/providers/aws/aws_cloud.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "provision/api_tools.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::aws {
namespace {

using test::failure_of;

/// Answers by action; what it is asked for is kept.
class Script final : public http::Client {
 public:
  http::Response send(const http::Request& request, const Cancel&) override {
    const std::lock_guard lock(mutex_);
    const std::string action = member(request.body, "Action");
    asked[action].push_back(request);
    if (const auto found = answers.find(action); found != answers.end())
      return found->second(request);
    return page(action, "");
  }

  static http::Response page(const std::string& action, const std::string& inside) {
    return {.status = 200,
            .headers = {},
            .body = "<" + action + "Response>" + inside + "</" + action + "Response>"};
  }

  static http::Response refusal(const std::string& code, const std::string& message) {
    return {.status = 400,
            .headers = {},
            .body = "<Response><Errors><Error><Code>" + code + "</Code><Message>" + message +
                    "</Message></Error></Errors></Response>"};
  }

  /// The value of a parameter of a form, as it is written there.
  static std::string member(const std::string& form, const std::string& name) {
    const std::string start = name + "=";
    for (std::size_t at = form.find(start); at != form.npos; at = form.find(start, at + 1))
      if (at == 0 || form[at - 1] == '&') {
        const std::size_t begin = at + start.size();
        return form.substr(begin, form.find('&', begin) - begin);
      }
    return {};
  }

  std::map<std::string, std::function<http::Response(const http::Request&)>> answers;
  std::map<std::string, std::vector<http::Request>> asked;

 private:
  std::mutex mutex_;
};

struct Account {
  Script script;
  test::Unheard observer;
  Cancel cancel;
  AwsCloud cloud{test::tools_over(script, observer), Endpoints{}};
};

TEST_SUITE_BEGIN("provision/aws/cloud");

TEST_CASE_FIXTURE(Account, "an id that is none keeps no machine from being ended") {
  std::set<std::string> ended;
  script.answers["TerminateInstances"] = [&](const http::Request& request) {
    std::vector<std::string> ids;
    for (int n = 1; n <= 3; ++n)
      if (const auto id = Script::member(request.body, "InstanceId." + std::to_string(n));
          !id.empty())
        ids.push_back(id);
    for (const std::string& id : ids)
      if (!id.starts_with("i-"))
        return Script::refusal("InvalidInstanceID.Malformed", "Invalid id: \"" + id + "\"");
    ended.insert(ids.begin(), ids.end());
    return Script::page("TerminateInstances", "");
  };
  cloud.terminate("us-east-1", std::vector<std::string>{"i-1", "99999999999999999999", "i-2"});
  CHECK(ended == std::set<std::string>{"i-1", "i-2"});
}

TEST_CASE_FIXTURE(Account,
                  "machines that are terminated are asked for where an end counts at once") {
  script.answers["DescribeInstances"] = [&](const http::Request&) {
    return Script::page("DescribeInstances",
                        "<reservationSet><item><instancesSet><item><instanceId>i-1</instanceId>"
                        "<instanceState><name>terminated</name></instanceState>"
                        "</item></instancesSet></item></reservationSet>");
  };
  const auto found = cloud.machines_and_ended("us-east-1", {"c1"}, cancel);
  REQUIRE(found.size() == 1);
  CHECK(found[0].state == cloud::MachineState::gone);
  cloud.machines("us-east-1", {"c1"}, cancel);
  const auto& asked = script.asked["DescribeInstances"];
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].body.find("=terminated") != std::string::npos);
  CHECK(asked[1].body.find("=terminated") == std::string::npos);
}

TEST_CASE_FIXTURE(Account, "what becomes of a machine is said once the cloud knows it") {
  int calls = 0;
  script.answers["ModifyInstanceAttribute"] = [&](const http::Request&) {
    if (++calls < 3)
      return Script::refusal("InvalidInstanceID.NotFound", "The instance ID 'i-1' does not exist");
    return Script::page("ModifyInstanceAttribute", "<return>true</return>");
  };
  cloud.release_at("us-east-1", std::vector<std::string>{"i-1"}, std::chrono::system_clock::now(),
                   cancel);
  CHECK(calls == 3);
}

/// Lists a VPC, a subnet and a gateway as the cluster's parts.
void list_parts(Script& script) {
  script.answers["DescribeTags"] = [](const http::Request&) {
    std::string tags;
    for (const auto& [kind, id] : {std::pair("vpc", "vpc-1"), std::pair("subnet", "subnet-1"),
                                   std::pair("internet-gateway", "igw-1")})
      tags += std::string("<item><resourceType>") + kind + "</resourceType><resourceId>" + id +
              "</resourceId></item>";
    return Script::page("DescribeTags", "<tagSet>" + tags + "</tagSet>");
  };
}

TEST_CASE_FIXTURE(Account, "nothing of a network is removed while something else lives in it") {
  list_parts(script);
  script.answers["DescribeNetworkInterfaces"] = [](const http::Request&) {
    return Script::page("DescribeNetworkInterfaces",
                        "<networkInterfaceSet>"
                        "<item><networkInterfaceId>eni-1</networkInterfaceId>"
                        "<attachment><instanceId>i-7</instanceId></attachment></item>"
                        "<item><networkInterfaceId>eni-2</networkInterfaceId>"
                        "<description>ELB app/mine</description></item>"
                        "</networkInterfaceSet>");
  };
  const Error e = failure_of([&] { cloud.remove_network("us-east-1", {"c1"}, {}); });
  CHECK(e.kind() == ErrorKind::conflict);
  for (const char* word : {"vpc-1 in us-east-1", "eni-1 of i-7", "eni-2 of ELB app/mine"})
    CHECK(test::mentions(e, word));
  for (const char* action : {"DetachInternetGateway", "DeleteInternetGateway", "DeleteSubnet"})
    CHECK_FALSE(script.asked.contains(action));
}

TEST_CASE_FIXTURE(Account, "a gateway stays for as long as a subnet of its network stays") {
  list_parts(script);
  script.answers["DescribeNetworkInterfaces"] = [](const http::Request&) {
    return Script::refusal("UnauthorizedOperation", "You are not authorized");
  };
  script.answers["DeleteSubnet"] = [](const http::Request&) {
    return Script::refusal("DependencyViolation", "subnet-1 has dependencies");
  };
  CHECK(failure_of([&] { cloud.remove_network("us-east-1", {"c1"}, {}); }).kind() ==
        ErrorKind::conflict);
  CHECK_FALSE(script.asked.contains("DetachInternetGateway"));
  script.answers.erase("DeleteSubnet");
  cloud.remove_network("us-east-1", {"c1"}, {});
  CHECK(script.asked["DetachInternetGateway"].size() == 1);
  CHECK(script.asked["DeleteVpc"].size() == 1);
}

TEST_CASE_FIXTURE(Account,
                  "a security group is known by its cluster's tag, whatever it is called") {
  script.answers["DescribeTags"] = [](const http::Request&) {
    return Script::page("DescribeTags",
                        "<tagSet><item><resourceType>security-group</resourceType>"
                        "<resourceId>sg-1</resourceId></item></tagSet>");
  };
  script.answers["DescribeVpcs"] = [](const http::Request&) {
    return Script::page("DescribeVpcs", "<vpcSet><item><vpcId>vpc-1</vpcId></item></vpcSet>");
  };
  script.answers["DescribeSubnets"] = [](const http::Request&) {
    return Script::page("DescribeSubnets",
                        "<subnetSet><item><subnetId>subnet-1</subnetId></item></subnetSet>");
  };
  script.answers["DescribeSecurityGroups"] = [](const http::Request& request) {
    const bool by_tag = request.body.find("tag%3Afastgpu-cluster") != std::string::npos &&
                        request.body.find("group-name") == std::string::npos;
    return Script::page("DescribeSecurityGroups",
                        by_tag ? "<securityGroupInfo><item><groupId>sg-1</groupId></item>"
                                 "</securityGroupInfo>"
                               : "");
  };
  const auto parts = cloud.make_network(
      {.marks = {{"c1"}, "renamed", "us"}, .site = {"us-east-1", "us-east-1a"}, .vpc = "vpc-1"},
      cancel);
  CHECK(parts.at("security-group") == "sg-1");
  CHECK_FALSE(script.asked.contains("CreateSecurityGroup"));
}

std::string type_item(const std::string& name, const std::string& gpu, const std::string& network) {
  return "<item><instanceType>" + name + "</instanceType><vCpuInfo><defaultVCpus>8</defaultVCpus>" +
         "</vCpuInfo><gpuInfo><gpus><item><name>" + gpu +
         "</name><count>8</count></item></gpus></gpuInfo><networkInfo>" + network +
         "</networkInfo></item>";
}

TEST_CASE_FIXTURE(Account,
                  "which types there are the API tells, with the numbers of their fast cards") {
  script.answers["DescribeInstanceTypes"] = [](const http::Request& request) {
    CHECK(Script::member(request.body, "Filter.1.Value.1") == "p%2A");
    std::string cards;
    for (int card = 0; card <= 4; ++card)
      cards += "<item><networkCardIndex>" + std::to_string(card) +
               "</networkCardIndex><peakBandwidthInGbps>" + (card == 0 ? "350" : "400") +
               "</peakBandwidthInGbps></item>";
    return Script::page(
        "DescribeInstanceTypes",
        "<instanceTypeSet>" +
            type_item("p9.48xlarge", "B900",
                      "<networkCards>" + cards +
                          "</networkCards><efaInfo><maximumEfaInterfaces>4</maximumEfaInterfaces>"
                          "</efaInfo>") +
            type_item("", "B900", "") + type_item("g1.xlarge", "Other", "") + "</instanceTypeSet>");
  };
  script.answers["DescribeInstanceTypeOfferings"] = [](const http::Request&) {
    return Script::page("DescribeInstanceTypeOfferings",
                        "<instanceTypeOfferingSet><item><instanceType>p9.48xlarge</instanceType>"
                        "<location>us-east-1a</location></item></instanceTypeOfferingSet>");
  };
  const auto offers = cloud.offers("us-east-1", {.gpu = "b900", .gpus = 8}, cancel);
  REQUIRE(offers.size() == 1);
  CHECK(offers[0].type.name == "p9.48xlarge");
  CHECK(offers[0].type.rdma_interfaces == 4);
  CHECK(offers[0].type.rdma_gbit == 1'600);
  CHECK(offers[0].type.rdma_cards == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE_FIXTURE(Account,
                  "adapters that a machine with a public address cannot have are refused") {
  const Error error = failure_of([&] {
    cloud.launch({.type = "p9.48xlarge", .rdma = true, .rdma_cards = {1, 2}}, cancel);
  });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(std::string(error.what()).find("--public-address none") != std::string::npos);
  CHECK(script.asked.empty());
}

TEST_CASE_FIXTURE(Account, "a reservation says what it is for, and is looked for where it may be") {
  script.answers["DescribeCapacityReservations"] = [](const http::Request& request) {
    if (request.url.find("us-east-1") == std::string::npos)
      return Script::refusal("InvalidCapacityReservationId.NotFound", "no such reservation");
    return Script::page("DescribeCapacityReservations",
                        "<capacityReservationSet><item><capacityReservationId>cr-1"
                        "</capacityReservationId><instanceType>p5.48xlarge</instanceType>"
                        "<availabilityZone>us-east-1b</availabilityZone><availableInstanceCount>3"
                        "</availableInstanceCount><reservationType>capacity-block"
                        "</reservationType></item></capacityReservationSet>");
  };
  script.answers["DescribeInstanceTypes"] = [](const http::Request&) {
    return Script::page(
        "DescribeInstanceTypes",
        "<instanceTypeSet>" + type_item("p5.48xlarge", "H100", "") + "</instanceTypeSet>");
  };
  script.answers["DescribeInstanceTypeOfferings"] = [](const http::Request&) {
    std::string items;
    for (const char* zone : {"us-east-1a", "us-east-1b"})
      items += std::string("<item><instanceType>p5.48xlarge</instanceType><location>") + zone +
               "</location></item>";
    return Script::page("DescribeInstanceTypeOfferings",
                        "<instanceTypeOfferingSet>" + items + "</instanceTypeOfferingSet>");
  };
  const cloud::MachineRequest choice{.reservation = "cr-1"};
  CHECK(cloud.offers("us-west-2", choice, cancel).empty());
  const auto offers = cloud.offers("us-east-1", choice, cancel);
  REQUIRE(offers.size() == 1);
  CHECK(offers[0].site.zone == "us-east-1b");
  CHECK(offers[0].quota == 3);
  cloud.launch({.site = offers[0].site, .type = "p5.48xlarge", .reservation = "cr-1"}, cancel);
  CHECK(script.asked["RunInstances"].back().body.find("MarketType=capacity-block") !=
        std::string::npos);
}

TEST_CASE("a region is of the partition that its name says, with hosts and prices of its own") {
  CHECK(partition_of("us-east-1").home == "us-east-1");
  CHECK(partition_of("").home == "us-east-1");
  CHECK(partition_of("cn-northwest-1").home == "cn-north-1");
  CHECK(partition_of("cn-north-1").domain == ".amazonaws.com.cn");
  CHECK(partition_of("cn-north-1").currency == kCny);
  CHECK(partition_of("us-gov-east-1").home == "us-gov-west-1");
  CHECK(partition_of("us-gov-east-1").prices.empty());
}

TEST_CASE("an account of another partition is asked in its own regions") {
  Script script;
  test::Unheard observer;
  const Cancel cancel;
  cloud::ApiTools tools = test::tools_over(script, observer);
  tools.find_credentials = [] {
    credentials::Credentials found;
    found.keys = {"key", Secret("s3cret")};
    found.region = "cn-northwest-1";
    return found;
  };
  AwsCloud china(std::move(tools), Endpoints{});
  china.account(cancel);
  china.regions(cancel);
  CHECK(script.asked["GetCallerIdentity"].back().url == "https://sts.cn-north-1.amazonaws.com.cn/");
  CHECK(script.asked["DescribeRegions"].back().url == "https://ec2.cn-north-1.amazonaws.com.cn/");
  CHECK(china.usual_regions() == std::vector<std::string>{"cn-north-1", "cn-northwest-1"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::aws
