// Alibaba Cloud's words and ours: launches, machines, refusals, and answers that are not as they
// should be.
#include <doctest/doctest.h>

#include <map>

#include "provision/cloud/cloud.hpp"
#include "provision/providers/alibaba/hpc.hpp"
#include "provision/providers/alibaba/machines.hpp"

namespace fastgpu::provision::alibaba {
namespace {

using namespace std::chrono_literals;
using cloud::FailureKind;
using cloud::MachineState;
using nlohmann::json;
using std::chrono::system_clock;

constexpr system_clock::time_point kNow{
    std::chrono::seconds(1'790'000'000)};  // 2026-09-21T14:13:20Z

cloud::Launch launch() {
  return {.marks = {{"0123abcd"}, "demo", "owner"},
          .site = {"cn-hangzhou", "cn-hangzhou-h"},
          .type = "ecs.gn7-c13g1.26xlarge",
          .image = "ubuntu.vhd",
          .network = {{"vswitch", "vsw-1"}, {"security-group", "sg-1"}},
          .first = 4,
          .count = 3,
          .token = "0011",
          .user_data = Secret("#cloud-config")};
}

std::map<std::string, std::string> parameters_of(const cloud::Launch& wanted) {
  std::map<std::string, std::string> named;
  for (const auto& [name, value] : launch_parameters(wanted, kNow))
    CHECK(named.emplace(name, value).second);
  return named;
}

/// One instance as DescribeInstances tells of it, with `change` made to it.
json instance(const json& change = json::object()) {
  json one = {{"InstanceId", "i-1"},
              {"InstanceName", "demo-000005"},
              {"Status", "Running"},
              {"ZoneId", "cn-hangzhou-h"},
              {"InstanceType", "ecs.g7.large"},
              {"CreationTime", "2026-09-21T14:13Z"},
              {"PublicIpAddress", {{"IpAddress", {"198.51.100.7"}}}},
              {"VpcAttributes", {{"PrivateIpAddress", {{"IpAddress", {"10.77.0.4"}}}}}},
              {"Tags",
               {{"Tag",
                 {{{"TagKey", "fastgpu-cluster"}, {"TagValue", "0123abcd"}},
                  {{"TagKey", "fastgpu-name"}, {"TagValue", "demo"}},
                  {{"TagKey", "fastgpu-owner"}, {"TagValue", "owner"}}}}}}};
  one.merge_patch(change);
  return {{"Instances", {{"Instance", json::array({one})}}}};
}

std::vector<cloud::Machine> read(const json& answer) {
  return machines_in(Answer(answer), "cn-hangzhou");
}

TEST_SUITE_BEGIN("provision/alibaba");

TEST_CASE("machines with RoCE stand in a high-performance cluster, and no others do") {
  CHECK_FALSE(parameters_of(launch()).contains("HpcClusterId"));
  cloud::Launch together = launch();
  together.type = "ecs.sccgn6.24xlarge";
  together.network["hpc-cluster"] = "hpc-1";
  CHECK(parameters_of(together).at("HpcClusterId") == "hpc-1");
}

TEST_CASE("what takes no tags is marked in its description") {
  const cloud::OwnerTags marks = marks_in_description(description_of(launch().marks));
  CHECK(marks.cluster.value == "0123abcd");
  CHECK(marks.cluster_name == "demo");
  CHECK(marks.owner == "owner");
  CHECK(marks_in_description("our own, do not touch").cluster.value.empty());
}

TEST_CASE("a machine without a public address asks for no bandwidth to the world") {
  CHECK(parameters_of(launch()).at("InternetMaxBandwidthOut") == "100");
  cloud::Launch inside = launch();
  inside.has_public_address = false;
  CHECK(parameters_of(inside).at("InternetMaxBandwidthOut") == "0");
}

TEST_CASE("a data disk is asked for with its machine, and goes with it") {
  CHECK_FALSE(parameters_of(launch()).contains("DataDisk.1.Size"));
  cloud::Launch wanted = launch();
  wanted.data_disk = {500, ""};
  const auto named = parameters_of(wanted);
  CHECK(named.at("DataDisk.1.Size") == "500");
  CHECK(named.at("DataDisk.1.Category") == "cloud_essd");
  CHECK(named.at("DataDisk.1.DeleteWithInstance") == "true");
  wanted.data_disk.type = "cloud_auto";
  CHECK(parameters_of(wanted).at("DataDisk.1.Category") == "cloud_auto");
}

TEST_CASE("a launch asks for its count, with names that tell each node's index") {
  const auto named = parameters_of(launch());
  CHECK(named.at("Amount") == "3");
  CHECK(named.at("MinAmount") == "1");
  CHECK(named.at("InstanceName") == "demo-[4,6]");
  CHECK(named.at("ClientToken") == "0011");
  CHECK(named.at("UserData") == "I2Nsb3VkLWNvbmZpZw==");
  CHECK(named.at("HttpTokens") == "required");
  CHECK(named.at("VSwitchId") == "vsw-1");
  CHECK(named.at("SecurityGroupId") == "sg-1");
  CHECK(named.at("InternetChargeType") == "PayByTraffic");
  CHECK(named.at("Tag.1.Key") == "fastgpu-cluster");
  CHECK(named.at("Tag.1.Value") == "0123abcd");
  CHECK(named.at("Tag.3.Value") == "owner");
  CHECK(named.at("Tag.4.Value") == "4");
  for (const char* absent : {"AutoReleaseTime", "SpotStrategy", "SystemDisk.Size",
                             "DeploymentSetId", "NetworkInterface.1.InstanceType"})
    CHECK_FALSE(named.contains(absent));
}

TEST_CASE("a spot launch names its limit with three decimals, or takes the market's price") {
  cloud::Launch wanted = launch();
  wanted.market = cloud::Market::spot;
  CHECK(parameters_of(wanted).at("SpotStrategy") == "SpotAsPriceGo");
  wanted.max_price = Money{12.34567, kCny};
  CHECK(parameters_of(wanted).at("SpotStrategy") == "SpotWithPriceLimit");
  CHECK(parameters_of(wanted).at("SpotPriceLimit") == "12.346");
}

TEST_CASE("elastic RDMA is asked for on the primary interface of types that have it") {
  cloud::Launch wanted = launch();
  CHECK(parameters_of(wanted).contains("VSwitchId"));
  wanted.rdma = true;  // Of a type that was found to have it, whichever it be.
  wanted.type = "ecs.ebmgn8v.48xlarge";
  const auto named = parameters_of(wanted);
  CHECK(named.at("NetworkInterface.1.InstanceType") == "Primary");
  CHECK(named.at("NetworkInterface.1.NetworkInterfaceTrafficMode") == "HighPerformance");
  CHECK(named.at("NetworkInterface.1.VSwitchId") == "vsw-1");
  CHECK_FALSE(named.contains("VSwitchId"));
  CHECK_FALSE(named.contains("SecurityGroupId"));
}

TEST_CASE("a launch out of a reservation names its private pool") {
  cloud::Launch wanted = launch();
  CHECK_FALSE(parameters_of(wanted).contains("PrivatePoolOptions.Id"));
  wanted.reservation = "crp-1";
  CHECK(parameters_of(wanted).at("PrivatePoolOptions.MatchCriteria") == "Target");
  CHECK(parameters_of(wanted).at("PrivatePoolOptions.Id") == "crp-1");
}

TEST_CASE("a launch names the deployment set where there is one") {
  cloud::Launch wanted = launch();
  CHECK_FALSE(parameters_of(wanted).contains("DeploymentSetId"));
  wanted.network["deployment-set"] = "ds-1";
  CHECK(parameters_of(wanted).at("DeploymentSetId") == "ds-1");
}

TEST_CASE("a family is found in the list of those that stand close together, however that is cut") {
  CHECK(names_family_of("ecs.g6,ecs.ebmgn7ex", "ecs.ebmgn7ex.32xlarge"));
  CHECK(names_family_of("[\"ecs.ebmgn7ex\", \"ecs.g6\"]", "ecs.ebmgn7ex.32xlarge"));
  CHECK_FALSE(names_family_of("ecs.ebmgn7,ecs.ebmgn7exl", "ecs.ebmgn7ex.32xlarge"));
  CHECK_FALSE(names_family_of("", "ecs.ebmgn7ex.32xlarge"));
}

TEST_CASE("the cloud's timer goes off at a full minute, and no earlier than the cloud allows") {
  CHECK(release_time(kNow + 8h, kNow) == "2026-09-21T22:14:00Z");
  CHECK(release_time(kNow + 1min, kNow) == "2026-09-21T14:45:00Z");
  CHECK(release_time(kNow - 1h, kNow) == "2026-09-21T14:45:00Z");
}

TEST_CASE("an address that is none is an error of the cloud") {
  const json hostile = {{"PublicIpAddress", {{"IpAddress", {"1.2.3.4\nProxyCommand x"}}}}};
  CHECK_THROWS_WITH_AS(read(instance(hostile)), doctest::Contains("alibaba: machine i-1"), Error);
}

TEST_CASE("an instance is read with its index, addresses and marks") {
  const auto machines = read(instance());
  REQUIRE(machines.size() == 1);
  CHECK(machines[0].id == "i-1");
  CHECK(machines[0].index == 5);
  CHECK(machines[0].state == MachineState::running);
  CHECK(machines[0].address.text() == "198.51.100.7");
  CHECK(machines[0].private_address.text() == "10.77.0.4");
  CHECK(machines[0].site == cloud::Site{"cn-hangzhou", "cn-hangzhou-h"});
  CHECK(machines[0].marks.cluster.value == "0123abcd");
  CHECK(machines[0].marks.owner == "owner");
}

TEST_CASE("an instance that was renamed has no index") {
  for (const char* name :
       {"demo-5", "demo-0000005", "demo-00000x", "other-000005", "demo-", "", "demo--00005"}) {
    CAPTURE(name);
    CHECK(read(instance({{"InstanceName", name}}))[0].index == -1);
  }
}

TEST_CASE("of a cluster that was renamed the instances' names are those of their launch") {
  json tags = instance()["Instances"]["Instance"][0]["Tags"]["Tag"];
  for (json& tag : tags)
    if (tag["TagKey"] == cloud::kNameTag) tag["TagValue"] = "prod";
  tags.push_back({{"TagKey", cloud::kLaunchedTag}, {"TagValue", "demo"}});
  const auto machines = read(instance({{"Tags", {{"Tag", tags}}}}));
  CHECK(machines[0].index == 5);
  CHECK(machines[0].marks.cluster_name == "prod");
}

TEST_CASE("states are told apart, and an unknown one is of a machine that is there") {
  const json recycling = {{"LockReason", {{{"LockReason", "Recycling"}}}}};
  const auto state_of = [](const json& change) { return read(instance(change))[0].state; };
  CHECK(state_of({{"Status", "Pending"}}) == MachineState::pending);
  CHECK(state_of({{"Status", "Starting"}}) == MachineState::pending);
  CHECK(state_of({{"Status", "Stopping"}}) == MachineState::stopping);
  CHECK(state_of({{"Status", "Stopped"}}) == MachineState::stopped);
  CHECK(state_of({{"Status", "Hovering"}}) == MachineState::pending);
  CHECK(state_of({{"OperationLocks", recycling}}) == MachineState::running);
  CHECK(state_of({{"OperationLocks", recycling}, {"Status", "Stopped"}}) == MachineState::ending);
}

TEST_CASE("answers that lack things or have them of other kinds are read without a complaint") {
  CHECK(read(json::object()).empty());
  CHECK(read({{"Instances", 1}}).empty());
  CHECK(read({{"Instances", {{"Instance", "x"}}}}).empty());
  CHECK(read({{"Instances", {{"Instance", {1, "x", nullptr, json::object()}}}}}).empty());
  for (const char* name : {"InstanceName", "Status", "Tags", "VpcAttributes", "PublicIpAddress",
                           "OperationLocks", "ZoneId"}) {
    CAPTURE(name);
    for (const json& odd : {json(), json(1e308), json("x"), json::array({1}), json::object()})
      CHECK(read(instance({{name, odd}})).size() == 1);
  }
}

TEST_CASE("a refusal is what its code says, whatever its status") {
  const std::pair<const char*, FailureKind> table[] = {
      {"Throttling.User", FailureKind::throttled},
      {"ServiceUnavailable", FailureKind::busy},
      {"IncorrectVSwitchStatus", FailureKind::busy},
      {"OperationDenied.NoStock", FailureKind::stock},
      {"Zone.NotOnSale", FailureKind::stock},
      {"OperationDenied.SpotPriceLowerThanPublicPrice", FailureKind::price},
      {"QuotaExceed.ElasticQuota", FailureKind::quota},
      {"QuotaExceeded.PrivateIpAddress", FailureKind::quota},
      {"InvalidAccountStatus.NotEnoughBalance", FailureKind::money},
      {"InvalidAccountStatus.SnapshotServiceUnavailable", FailureKind::account},
      {"Forbidden.RAM", FailureKind::permission},
      {"InvalidAccessKeyId.NotFound", FailureKind::credentials},
      {"InvalidSecurityToken.Expired", FailureKind::expired},
      {"InvalidTimeStamp.Expired", FailureKind::clock_skew},
      {"InvalidInstanceId.NotFound", FailureKind::not_found},
      {"DependencyViolation.VSwitch", FailureKind::in_use},
      {"IncorrectInstanceStatus", FailureKind::in_use},
      {"IdempotentParameterMismatch", FailureKind::token_used},
      {"DryRunOperation", FailureKind::dry_run_passed},
      {"DRYRUN.SUCCESS", FailureKind::dry_run_passed},
      {"InvalidParameter", FailureKind::invalid},
  };
  const AlibabaDialect dialect;
  for (const auto& [code, kind] : table) {
    CAPTURE(code);
    for (const int status : {200, 400, 403}) {
      const auto failure =
          dialect.failure_in({.status = status, .body = json{{"Code", code}}.dump()});
      REQUIRE(failure);
      CHECK(failure->kind == kind);
    }
  }
}

TEST_CASE("refusals come as JSON, as XML, and as nothing") {
  const AlibabaDialect dialect;
  const auto xml = dialect.failure_in(
      {.status = 400,
       .body =
           "<Error><RequestId>R</RequestId><Code>Throttling</Code><Message>m</Message></Error>"});
  REQUIRE(xml);
  CHECK(xml->kind == FailureKind::throttled);
  CHECK(xml->request_id == "R");
  const auto nothing = dialect.failure_in({.status = 502, .body = ""});
  REQUIRE(nothing);
  CHECK(nothing->kind == FailureKind::busy);
  CHECK(nothing->code == "HTTP 502");
  CHECK_FALSE(dialect.failure_in({.status = 200, .body = R"({"Code":"200"})"}));
}

TEST_CASE("how long to wait is read from the limits' headers") {
  const AlibabaDialect dialect;
  const auto wait = [&](const std::string& text) {
    return dialect
        .failure_in({.status = 400,
                     .headers = {{"X-RateLimit-User-API", text}},
                     .body = R"({"Code":"Throttling.User"})"})
        ->retry_after;
  };
  CHECK(wait("TimeWindow:60,Quota:20,TimeLeft:1500") == 1500ms);
  CHECK(wait("TimeLeft:999999999") == 24h);
  for (const char* odd : {"TimeLeft:", "TimeLeft:-1", "TimeLeft:99999999999999", "x", ""})
    CHECK_FALSE(wait(odd));
}

TEST_CASE("an answer has the request's identity") {
  const auto is_answer = [](const std::string& body) {
    return AlibabaDialect().is_answer({.status = 200, .headers = {}, .body = body}, {});
  };
  CHECK(is_answer(R"({"RequestId": "r-1"})"));
  for (const char* body : {"", "{}", R"({"RequestId": null})", "[]", R"(["RequestId"])"})
    CHECK_FALSE(is_answer(body));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::alibaba
