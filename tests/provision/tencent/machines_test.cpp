#include "provision/providers/tencent/machines.hpp"

#include <doctest/doctest.h>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::tencent {
namespace {

using namespace std::chrono_literals;
using cloud::Machine;
using cloud::MachineState;

constexpr std::chrono::system_clock::time_point kNow{1'700'000'000s};  // 2023-11-14T22:13:20Z

cloud::Launch usual_launch() {
  cloud::Launch launch{.marks = {{"c0ffee00"}, "demo", "me"},
                       .site = {"ap-guangzhou", "ap-guangzhou-3"},
                       .type = "GN10X.2XLARGE40",
                       .image = "img-1",
                       .network = {{"vpc", "vpc-1"},
                                   {"subnet", "subnet-1"},
                                   {"security-group", "sg-1"},
                                   {"hpc-cluster", "hpc-1"}},
                       .first = 4,
                       .count = 3,
                       .token = "0123"};
  launch.user_data = Secret("#cloud-config");
  return launch;
}

json usual_instance() {
  return {{"InstanceId", "ins-1"},
          {"InstanceName", "demo-5"},
          {"InstanceState", "RUNNING"},
          {"InstanceType", "GN10X.2XLARGE40"},
          {"CreatedTime", "2026-01-01T00:00:00Z"},
          {"Placement", {{"Zone", "ap-guangzhou-3"}}},
          {"PublicIpAddresses", {"203.0.113.5"}},
          {"PrivateIpAddresses", {"10.77.48.5"}},
          {"Tags", json::array({{{"Key", "fastgpu-cluster"}, {"Value", "c0ffee00"}},
                                {{"Key", "fastgpu-name"}, {"Value", "demo"}},
                                {{"Key", "fastgpu-owner"}, {"Value", "me"}},
                                {{"Key", "fastgpu-first"}, {"Value", "4"}}})}};
}

std::vector<Machine> read(json instance) {
  const std::vector<JsonAnswer> instances = {JsonAnswer(std::move(instance))};
  return machines_in(instances, "ap-guangzhou");
}

int index_of(const json& instance) {
  return read(instance).at(0).index;
}

TEST_SUITE_BEGIN("provision/tencent");

TEST_CASE("a machine without a public address asks for neither an address nor bandwidth") {
  cloud::Launch launch = usual_launch();
  launch.has_public_address = false;
  const json access = launch_body(launch, kNow).at("InternetAccessible");
  CHECK(access.at("PublicIpAssigned") == false);
  CHECK(access.at("InternetMaxBandwidthOut") == 0);
}

TEST_CASE("a launch says which nodes, where, how paid and whose") {
  const json body = launch_body(usual_launch(), kNow);

  CHECK(body["InstanceCount"] == 3);
  CHECK(body["InstanceName"] == "demo-{R:4}");
  CHECK(body["HostName"] == "demo-{R:4}");
  CHECK(body["ClientToken"] == "0123");
  CHECK(body["Placement"]["Zone"] == "ap-guangzhou-3");
  CHECK(body["VirtualPrivateCloud"] == json{{"VpcId", "vpc-1"}, {"SubnetId", "subnet-1"}});
  CHECK(body["SecurityGroupIds"] == json::array({"sg-1"}));
  CHECK(body["InstanceChargeType"] == "POSTPAID_BY_HOUR");
  CHECK(body["InternetAccessible"]["InternetChargeType"] == "TRAFFIC_POSTPAID_BY_HOUR");
  CHECK(body["InternetAccessible"]["PublicIpAssigned"] == true);
  CHECK(body["UserData"] == "I2Nsb3VkLWNvbmZpZw==");
  const json& tags = body["TagSpecification"][0];
  CHECK(tags["ResourceType"] == "instance");
  CHECK(marks_in(Answer(tags["Tags"])).owner == "me");
  CHECK(tags["Tags"][3] == json{{"Key", "fastgpu-first"}, {"Value", "4"}});
  for (const char* absent : {"MinCount", "InstanceMarketOptions", "SystemDisk", "HpcClusterId",
                             "ActionTimer", "LoginSettings"})
    CHECK_FALSE(body.contains(absent));
}

TEST_CASE("a launch asks for spot machines, disk, timer and RDMA where they are wished") {
  cloud::Launch launch = usual_launch();
  launch.market = cloud::Market::spot;
  launch.max_price = Money{4.25, kCny};
  launch.disk_gib = 80;
  launch.type = "HCCG5v.24XLARGE384";
  launch.release_at = kNow + 8h;

  const json body = launch_body(launch, kNow);

  CHECK(body["InstanceChargeType"] == "SPOTPAID");
  CHECK(body["InstanceMarketOptions"]["SpotOptions"]["MaxPrice"] == "4.25");
  CHECK(body["InstanceMarketOptions"]["SpotOptions"]["SpotInstanceType"] == "one-time");
  CHECK(body["SystemDisk"] == json{{"DiskSize", 80}});
  CHECK(body["HpcClusterId"] == "hpc-1");
  CHECK(body["ActionTimer"]["TimerAction"] == "TerminateInstances");
  CHECK(body["ActionTimer"]["ActionTime"] == "2023-11-15T06:14:00Z");
}

TEST_CASE("a data disk is asked for with its machine, and goes with it") {
  cloud::Launch launch = usual_launch();
  CHECK_FALSE(launch_body(launch, kNow).contains("DataDisks"));
  launch.data_disk = {500, ""};
  CHECK(launch_body(launch, kNow)["DataDisks"] ==
        json::array(
            {json{{"DiskSize", 500}, {"DiskType", "CLOUD_BSSD"}, {"DeleteWithInstance", true}}}));
  launch.data_disk.type = "CLOUD_HSSD";
  CHECK(launch_body(launch, kNow)["DataDisks"][0]["DiskType"] == "CLOUD_HSSD");
}

TEST_CASE("a spot launch without a limit bids nothing of its own") {
  cloud::Launch launch = usual_launch();
  launch.market = cloud::Market::spot;
  CHECK_FALSE(launch_body(launch, kNow).contains("InstanceMarketOptions"));
}

TEST_CASE("a timer is never sooner than the cloud allows") {
  CHECK(end_timer(kNow - 1h, kNow)["ActionTime"] == "2023-11-14T22:20:00Z");
}

TEST_CASE("an address that is none is an error of the cloud") {
  json hostile = usual_instance();
  hostile["PrivateIpAddresses"] = {"10.77.48.5\nProxyCommand touch /tmp/x"};
  CHECK_THROWS_WITH_AS(read(hostile), doctest::Contains("tencent: machine ins-1"), Error);
}

TEST_CASE("an instance is read with its node's index, addresses and marks") {
  const Machine machine = read(usual_instance()).at(0);

  CHECK(machine.id == "ins-1");
  CHECK(machine.index == 5);
  CHECK(machine.state == MachineState::running);
  CHECK(machine.address.text() == "203.0.113.5");
  CHECK(machine.private_address.text() == "10.77.48.5");
  CHECK(machine.site == cloud::Site{"ap-guangzhou", "ap-guangzhou-3"});
  CHECK(machine.marks.cluster == state::ClusterId{"c0ffee00"});
  CHECK(machine.failure.empty());
}

TEST_CASE("states are told in our words, and unknown ones count as there") {
  const std::pair<const char*, MachineState> rows[] = {
      {"PENDING", MachineState::pending},      {"STARTING", MachineState::pending},
      {"REBOOTING", MachineState::pending},    {"STOPPING", MachineState::stopping},
      {"STOPPED", MachineState::stopped},      {"TERMINATING", MachineState::ending},
      {"SHUTDOWN", MachineState::failed},      {"LAUNCH_FAILED", MachineState::failed},
      {"SOMETHING_NEW", MachineState::pending}};
  for (const auto& [word, state] : rows) {
    CAPTURE(word);
    json instance = usual_instance();
    instance["InstanceState"] = word;
    CHECK(read(instance).at(0).state == state);
  }
}

TEST_CASE("an instance that could not be launched says why") {
  json instance = usual_instance();
  instance["InstanceState"] = "LAUNCH_FAILED";
  CHECK(read(instance).at(0).failure == "LAUNCH_FAILED");
  instance["LatestOperationErrorMsg"] = "no power";
  CHECK(read(instance).at(0).failure == "no power");
}

TEST_CASE("a name that is not of the launch has no index") {
  json instance = usual_instance();
  for (const char* name : {"", "demo", "demo-", "demo-x", "demo-5x", "demo--5", "other-5", "demo-3",
                           "demo-99999999999999999999", "demo-{R:4}"}) {
    CAPTURE(name);
    instance["InstanceName"] = name;
    CHECK(index_of(instance) == -1);
  }
  instance["InstanceName"] = "demo-4";
  CHECK(index_of(instance) == 4);
  instance["Tags"].erase(3);
  CHECK(index_of(instance) == -1);
}

TEST_CASE("of a cluster that was renamed the instances' names are those of their launch") {
  json instance = usual_instance();
  instance["InstanceName"] = "demo-4";
  for (json& tag : instance["Tags"])
    if (tag["Key"] == cloud::kNameTag) tag["Value"] = "prod";
  CHECK(index_of(instance) == -1);
  instance["Tags"].push_back({{"Key", cloud::kLaunchedTag}, {"Value", "demo"}});
  CHECK(index_of(instance) == 4);
}

TEST_CASE("instances of wrong kinds and without what belongs to them are read as far as they go") {
  CHECK(read(3).empty());
  CHECK(read(json::object()).empty());
  CHECK(read({{"InstanceId", json::array()}}).empty());
  const Machine machine = read({{"InstanceId", "ins-1"},
                                {"InstanceName", 7},
                                {"InstanceState", json::object()},
                                {"Placement", "x"},
                                {"PublicIpAddresses", {{"a", 1}}},
                                {"PrivateIpAddresses", json::array({nullptr})},
                                {"Tags", {1, "two", {{"Key", 1e300}}}}})
                              .at(0);
  CHECK(machine.state == MachineState::pending);
  CHECK(machine.index == -1);
  CHECK(machine.address.empty());
  CHECK(machine.private_address.empty());
  CHECK(machine.site.zone.empty());
  const json ids = {{"InstanceIdSet", {"ins-1", nullptr, 2, json::array()}}};
  CHECK(launched_in(Answer(ids)) == std::vector<std::string>{"ins-1", "2"});
}

TEST_CASE("what is marked is found by this cluster's mark or by any") {
  CHECK(marked({"c0ffee00"}) ==
        json{{"Name", "tag:fastgpu-cluster"}, {"Values", json::array({"c0ffee00"})}});
  CHECK(marked({}) == json{{"Name", "tag-key"}, {"Values", json::array({"fastgpu-cluster"})}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::tencent
