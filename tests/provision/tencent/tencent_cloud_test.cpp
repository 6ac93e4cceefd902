#include "provision/providers/tencent/tencent_cloud.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "provision/tencent/service.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::tencent {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;
using test::TencentAccount;

constexpr const char* kRegion = "ap-guangzhou";

json instance(const std::string& id, const std::string& state) {
  return {{"InstanceId", id}, {"InstanceState", state}};
}

json listed(const json& instances) {
  return {{"TotalCount", instances.size()}, {"InstanceSet", instances}};
}

json empty_list(const char* name) {
  return {{"TotalCount", 0}, {name, json::array()}};
}

json made_vpc() {
  return {{"VpcId", "vpc-1"},
          {"TagSet", json::array({{{"Key", "fastgpu-cluster"}, {"Value", "c0ffee00"}}})}};
}

cloud::NetworkRequest usual_wish() {
  return {.marks = {{"c0ffee00"}, "demo", "me"},
          .site = {"ap-guangzhou", "ap-guangzhou-3"},
          .ssh_from = {IpRange::parse("192.0.2.1/32")}};
}

/// In which there is nothing but what a test says.
struct EmptyRegion : TencentAccount {
  void reply_the_rest() {
    service.reply("DescribeSubnets", empty_list("SubnetSet"));
    service.reply("CreateSubnet", {{"Subnet", {{"SubnetId", "subnet-1"}}}});
    service.reply("DescribeSecurityGroups", empty_list("SecurityGroupSet"));
    service.reply("CreateSecurityGroup", {{"SecurityGroup", {{"SecurityGroupId", "sg-1"}}}});
    service.reply("DescribeSecurityGroupPolicies", {{"SecurityGroupPolicySet", json::object()}});
    service.reply("CreateSecurityGroupPolicies", json::object());
  }
};

TEST_SUITE_BEGIN("provision/tencent");

TEST_CASE_FIXTURE(TencentAccount, "requests that go elsewhere still name the service's host") {
  service.reply("GetCallerIdentity", {{"Arn", "qcs::me"}});

  CHECK(cloud.account(cancel) == "qcs::me");

  const http::Request& request = service.asked.at(0).request;
  CHECK(request.url == "http://127.0.0.1:1/");
  CHECK(http::find_header(request.headers, "Host") == "sts.tencentcloudapi.com");
  CHECK(http::find_header(request.headers, "X-TC-Version") == "2018-08-13");
  CHECK_FALSE(http::find_header(request.headers, "X-TC-Region"));
}

TEST_CASE_FIXTURE(TencentAccount, "every page of a list is read") {
  json page = json::array();
  for (int i = 0; i < 100; ++i)
    page.push_back(instance("ins-" + std::to_string(i), "RUNNING"));
  service.reply("DescribeInstances", {{"TotalCount", 101}, {"InstanceSet", page}});
  service.reply("DescribeInstances",
                {{"TotalCount", 101}, {"InstanceSet", {instance("ins-last", "RUNNING")}}});

  const auto machines = cloud.machines(kRegion, {"c0ffee00"}, cancel);

  CHECK(machines.size() == 101);
  CHECK(service.last("DescribeInstances")["Offset"] == 100);
}

TEST_CASE_FIXTURE(TencentAccount, "a list that changes between its pages is read again") {
  json page = json::array();
  for (int i = 0; i < 100; ++i)
    page.push_back(instance("ins-" + std::to_string(i), "RUNNING"));
  service.reply("DescribeInstances", {{"TotalCount", 102}, {"InstanceSet", page}});
  service.reply("DescribeInstances", {{"TotalCount", 100}, {"InstanceSet", json::array()}});
  service.reply("DescribeInstances", {{"TotalCount", 100}, {"InstanceSet", page}});

  CHECK(cloud.machines(kRegion, {}, cancel).size() == 100);
  CHECK(service.count("DescribeInstances") == 3);
}

TEST_CASE_FIXTURE(TencentAccount, "a list without an end is given up") {
  service.reply("DescribeInstances", {{"TotalCount", 1e300}, {"InstanceSet", {1}}});
  const Error e = failure_of([&] { cloud.machines(kRegion, {}, cancel); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "does not end"));
}

TEST_CASE_FIXTURE(TencentAccount, "a launch returns the ids in its answer before they are listed") {
  service.reply("RunInstances", {{"InstanceIdSet", {"ins-1", "ins-2"}}});

  const auto machines = cloud.launch(
      {.site = {kRegion, "ap-guangzhou-3"}, .type = "T", .first = 3, .count = 2}, cancel);

  REQUIRE(machines.size() == 2);
  CHECK(machines[1].id == "ins-2");
  CHECK(machines[1].index == 4);
  CHECK(machines[1].state == cloud::MachineState::pending);
  CHECK(machines[1].site == cloud::Site{kRegion, "ap-guangzhou-3"});
  CHECK(machines[1].type == "T");
  CHECK(service.asked.size() == 1);
}

TEST_CASE_FIXTURE(TencentAccount, "a refusal for want of stock is 'capacity' and names the code") {
  service.refuse("RunInstances", "ResourceInsufficient.SpecifiedInstanceType");
  const Error e = failure_of([&] { cloud.launch({.type = "T"}, cancel); });
  CHECK(e.kind() == ErrorKind::capacity);
  CHECK(mentions(e, "ResourceInsufficient.SpecifiedInstanceType"));
  CHECK(service.count("RunInstances") == 1);
}

TEST_CASE_FIXTURE(TencentAccount, "a type with RDMA is not launched outside its own network") {
  const Error e = failure_of([&] { cloud.launch({.type = "HCCG5v.24XLARGE384"}, cancel); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "--rdma"));
  CHECK(service.asked.empty());
}

TEST_CASE_FIXTURE(TencentAccount, "stopping asks for those alone that run, and not to be charged") {
  service.reply("DescribeInstances",
                listed({instance("ins-1", "RUNNING"), instance("ins-2", "STOPPED")}));
  service.reply("StopInstances", json::object());

  cloud.stop(kRegion, std::vector<std::string>{"ins-1", "ins-2"}, cancel);

  CHECK(service.last("StopInstances")["InstanceIds"] == json::array({"ins-1"}));
  CHECK(service.last("StopInstances")["StoppedMode"] == "STOP_CHARGING");
}

TEST_CASE_FIXTURE(TencentAccount, "ending goes on without those that are gone or going") {
  service.refuse("TerminateInstances", "InvalidInstanceId.NotFound");
  service.refuse("TerminateInstances", "UnsupportedOperation.InstanceStateTerminating");
  service.reply("TerminateInstances", json::object());
  service.reply("DescribeInstances",
                listed({instance("ins-1", "RUNNING"), instance("ins-2", "TERMINATING")}));

  cloud.terminate(kRegion, std::vector<std::string>{"ins-1", "ins-2", "ins-new"});

  std::vector<json> ids;
  for (const auto& each : service.asked)
    if (each.action == "TerminateInstances") ids.push_back(each.body["InstanceIds"]);
  CHECK(ids == std::vector<json>{
                   {"ins-1", "ins-2", "ins-new"}, {"ins-1"}, {"ins-2", "ins-new"}, {"ins-1"}});
  CHECK(service.last("TerminateInstances")["ReleaseAddress"] == true);
}

TEST_CASE_FIXTURE(TencentAccount, "ending machines that are gone already succeeds") {
  service.refuse("TerminateInstances", "InvalidInstanceId.NotFound");
  service.reply("DescribeInstances", listed(json::array()));
  cloud.terminate(kRegion, std::vector<std::string>{"ins-1"});
  CHECK(waited >= 5s);
}

TEST_CASE_FIXTURE(TencentAccount, "a timer that is there already is replaced by another") {
  const std::vector<std::string> ids = {"ins-1"};
  const auto when = std::chrono::system_clock::now() + 1h;
  service.refuse("ImportInstancesActionTimer", "FailedOperation.MutActionTimerExist");
  service.reply("DescribeInstancesActionTimer",
                {{"ActionTimers", {{{"ActionTimerId", "t-1"}, {"InstanceId", "ins-1"}}}}});
  service.reply("DeleteInstancesActionTimer", json::object());
  service.reply("ImportInstancesActionTimer", {{"ActionTimerIds", {"t-2"}}});

  CHECK_NOTHROW(cloud.release_at(kRegion, ids, when, cancel));
  CHECK(service.last("DescribeInstancesActionTimer")["StatusList"] == json::array({"UNDO"}));
  CHECK(service.last("DeleteInstancesActionTimer")["ActionTimerIds"] == json::array({"t-1"}));
}

TEST_CASE_FIXTURE(TencentAccount, "a timer is taken away only where there is one") {
  const std::vector<std::string> ids = {"ins-1"};
  service.reply("DescribeInstancesActionTimer", {{"ActionTimers", json::array()}});
  CHECK_NOTHROW(cloud.release_at(kRegion, ids, std::nullopt, cancel));
}

TEST_CASE_FIXTURE(EmptyRegion, "a network is made with its marks, and opened to SSH alone") {
  service.reply("DescribeVpcs", empty_list("VpcSet"));
  service.reply("CreateVpc", {{"Vpc", made_vpc()}});
  reply_the_rest();

  const cloud::Parts parts = cloud.make_network(usual_wish(), cancel);

  CHECK(parts ==
        cloud::Parts{{"vpc", "vpc-1"}, {"subnet", "subnet-1"}, {"security-group", "sg-1"}});
  CHECK(service.last("CreateSubnet")["CidrBlock"] == "10.7.48.0/20");
  CHECK(service.last("DescribeVpcs")["Limit"] == "100");
  REQUIRE(service.count("CreateSecurityGroupPolicies") == 2);
  const auto first = std::ranges::find(service.asked, "CreateSecurityGroupPolicies",
                                       &test::TencentService::Asked::action);
  const json& in = first->body["SecurityGroupPolicySet"]["Ingress"];
  CHECK(in == json::array({{{"Protocol", "ALL"},
                            {"Port", "ALL"},
                            {"SecurityGroupId", "sg-1"},
                            {"Action", "ACCEPT"}},
                           {{"Protocol", "TCP"},
                            {"Port", "22"},
                            {"CidrBlock", "192.0.2.1/32"},
                            {"Action", "ACCEPT"}}}));
}

TEST_CASE_FIXTURE(EmptyRegion, "after a lost answer it is looked again before another is made") {
  service.reply("DescribeVpcs", empty_list("VpcSet"));
  service.reply("DescribeVpcs", {{"TotalCount", 1}, {"VpcSet", {made_vpc()}}});
  service.lose("CreateVpc");
  reply_the_rest();

  CHECK(cloud.make_network(usual_wish(), cancel).at("vpc") == "vpc-1");
  CHECK(service.count("CreateVpc") == 1);
}

TEST_CASE_FIXTURE(TencentAccount, "two networks of one cluster are a conflict") {
  service.reply("DescribeVpcs", {{"TotalCount", 2}, {"VpcSet", {made_vpc(), made_vpc()}}});
  const Error e = failure_of([&] { cloud.make_network(usual_wish(), cancel); });
  CHECK(e.kind() == ErrorKind::conflict);
}

TEST_CASE_FIXTURE(EmptyRegion, "parts without the cluster's mark stay, whatever is listed") {
  service.reply("DescribeHpcClusters", empty_list("HpcClusterSet"));
  reply_the_rest();
  service.reply("DescribeVpcs",
                {{"TotalCount", 2}, {"VpcSet", {json{{"VpcId", "vpc-theirs"}}, made_vpc()}}});
  service.reply("DeleteVpc", json::object());

  cloud.remove_network(kRegion, {"c0ffee00"}, {});

  CHECK(service.count("DeleteVpc") == 1);
  CHECK(service.last("DeleteVpc")["VpcId"] == "vpc-1");
}

TEST_CASE_FIXTURE(TencentAccount, "offers have price, stock and quota of their zone and market") {
  const json type = {{"Zone", "ap-guangzhou-3"},
                     {"InstanceType", "GN10X.2XLARGE40"},
                     {"InstanceChargeType", "SPOTPAID"},
                     {"GpuCount", 1},
                     {"Cpu", 8},
                     {"Memory", 40},
                     {"Status", "SELL"},
                     {"StatusCategory", "UnderStock"},
                     {"Price", {{"UnitPrice", 13.5}, {"UnitPriceDiscount", 4.1}}}};
  json paid = type;
  paid["InstanceChargeType"] = "POSTPAID_BY_HOUR";
  service.reply("DescribeZoneInstanceConfigInfos",
                {{"InstanceTypeQuotaSet", {type, paid, 3, json::object()}}});
  service.reply("DescribeAccountQuota",
                {{"AccountQuotaOverview",
                  {{"AccountQuota",
                    {{"SpotPaidQuotaSet",
                      json::array({{{"Zone", "ap-guangzhou-3"}, {"RemainingQuota", 7}}})}}}}}});

  const auto offers =
      cloud.offers(kRegion, {.gpu = "v100", .gpus = 1, .market = cloud::Market::spot}, cancel);

  REQUIRE(offers.size() == 1);
  CHECK(offers[0].type.gpu == "V100");
  CHECK(offers[0].type.gpu_memory_gib == 32);
  CHECK(offers[0].price_per_hour->amount == 4.1);
  CHECK(offers[0].price_per_hour->currency == kCny);
  CHECK(offers[0].stock == cloud::Stock::low);
  CHECK(offers[0].quota == 7);
  const json filters = service.last("DescribeZoneInstanceConfigInfos")["Filters"];
  CHECK(filters[0] == json{{"Name", "instance-family"}, {"Values", {"GN10X", "GN10Xp"}}});
}

TEST_CASE_FIXTURE(TencentAccount, "a GPU that this cloud does not have is asked for nowhere") {
  CHECK(cloud.offers(kRegion, {.gpu = "B200", .gpus = 8}, cancel).empty());
  CHECK(service.count("DescribeZoneInstanceConfigInfos") == 0);
}

TEST_CASE_FIXTURE(TencentAccount,
                  "which types have a GPU the list of types tells, whatever is known") {
  service.reply(
      "DescribeInstanceTypeConfigs",
      {{"InstanceTypeConfigSet",
        json::array({{{"InstanceType", "PNV9.X"}, {"GpuType", "NVIDIA H20"}, {"GpuMemory", 96}},
                     {{"InstanceType", "PNV9.Y"}, {"GpuType", nullptr}},
                     3})}});
  service.reply("DescribeZoneInstanceConfigInfos",
                {{"InstanceTypeQuotaSet", json::array({{{"Zone", "ap-guangzhou-3"},
                                                        {"InstanceType", "PNV9.X"},
                                                        {"InstanceChargeType", "POSTPAID_BY_HOUR"},
                                                        {"GpuCount", 8}}})}});
  const auto offers = cloud.offers(kRegion, {.gpu = "h20", .gpus = 8}, cancel);
  REQUIRE(offers.size() == 1);
  CHECK(offers[0].type.gpu == "H20");
  CHECK(offers[0].type.gpu_memory_gib == 96);
  const json filters = service.last("DescribeZoneInstanceConfigInfos")["Filters"];
  CHECK(filters[0] == json{{"Name", "instance-family"}, {"Values", {"PNV9"}}});
}

TEST_CASE_FIXTURE(TencentAccount,
                  "hosts of the international site are named, signed for, and bill in dollars") {
  TencentCloud world(test::tools_over(service, observer),
                     "https://{service}.intl.tencentcloudapi.com");
  service.reply("DescribeRegions", {{"RegionSet", json::array()}});
  world.regions(cancel);
  const http::Request& request = service.asked.back().request;
  CHECK(request.url == "https://cvm.intl.tencentcloudapi.com/");
  CHECK(http::find_header(request.headers, "Host") == "cvm.intl.tencentcloudapi.com");
  service.reply("DescribeZoneInstanceConfigInfos",
                {{"InstanceTypeQuotaSet", json::array({{{"Zone", "ap-guangzhou-3"},
                                                        {"InstanceType", "GN10X.2XLARGE40"},
                                                        {"InstanceChargeType", "POSTPAID_BY_HOUR"},
                                                        {"GpuCount", 1},
                                                        {"Price", {{"UnitPrice", 2}}}}})}});
  const auto offers = world.offers(kRegion, {.gpu = "V100", .gpus = 1}, cancel);
  REQUIRE(offers.size() == 1);
  CHECK(offers[0].price_per_hour->currency == kUsd);
}

TEST_CASE_FIXTURE(TencentAccount, "the usual image is the newest Ubuntu 22.04 that suits") {
  const auto image = [](const char* id, const char* name, const char* created) {
    return json{
        {"ImageId", id}, {"ImageName", name}, {"Architecture", "x86_64"}, {"CreatedTime", created}};
  };
  service.reply("DescribeImages",
                {{"TotalCount", 3},
                 {"ImageSet",
                  {image("img-old", "Ubuntu Server 22.04 LTS 64bit", "2024-01-01T00:00:00Z"),
                   image("img-new", "Ubuntu Server 22.04 LTS 64bit", "2026-01-01T00:00:00Z"),
                   image("img-24", "Ubuntu Server 24.04 LTS 64bit", "2026-02-01T00:00:00Z")}}});

  const auto images = cloud.images(kRegion, "", "GN10X.2XLARGE40", cancel);

  REQUIRE(images.size() == 2);
  CHECK(images[0].id == "img-new");
  CHECK(service.last("DescribeImages")["InstanceType"] == "GN10X.2XLARGE40");
}

TEST_CASE_FIXTURE(TencentAccount, "an image that is not there is not found") {
  service.reply("DescribeImages", empty_list("ImageSet"));
  const Error e = failure_of([&] { cloud.images(kRegion, "img-none", "", cancel); });
  CHECK(e.kind() == ErrorKind::not_found);
}

TEST_CASE_FIXTURE(TencentAccount, "quotas are told by zone, and odd numbers are numbers still") {
  service.reply("DescribeAccountQuota",
                {{"AccountQuotaOverview",
                  {{"AccountQuota",
                    {{"PostPaidQuotaSet",
                      json::array({{{"Zone", "z"}, {"TotalQuota", 1e300}, {"UsedQuota", "x"}}})},
                     {"SpotPaidQuotaSet", "none"}}}}}});

  const auto quotas = cloud.quotas(kRegion, cancel);

  REQUIRE(quotas.size() == 1);
  CHECK(quotas[0].name == "PostPaidQuotaSet z");
  CHECK_FALSE(quotas[0].used);
}

TEST_CASE_FIXTURE(TencentAccount,
                  "what cannot be read is no answer of the cloud's; its failure holds no secret") {
  for (const char* text : {"", "[]", "nonsense", R"({"Response": []})", R"({"Other": {}})"}) {
    CAPTURE(text);
    service.reply_text("DescribeRegions", 200, text);
    const Error e = failure_of([&] { cloud.regions(cancel); });
    CHECK(e.kind() == ErrorKind::transient);
    CHECK_FALSE(mentions(e, "s3cret"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::tencent
