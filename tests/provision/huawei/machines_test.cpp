#include "provision/providers/huawei/machines.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::huawei {
namespace {

using namespace std::chrono_literals;
using cloud::MachineState;
using nlohmann::json;
using std::chrono::system_clock;

const system_clock::time_point kNow = system_clock::from_time_t(1'700'000'000);

cloud::Launch launch() {
  return {.marks = {{"c1d2e3f4"}, "demo", "0a0b0c0d"},
          .site = {"cn-north-4", "cn-north-4a"},
          .type = "p2s.2xlarge.8",
          .image = "image",
          .network = {{"vpc", "v"}, {"subnet", "s"}, {"security-group", "g"}},
          .first = 4,
          .count = 3,
          .token = "0123456789abcdef0123456789abcdef",
          .user_data = Secret("hello")};
}

json server(const std::string& name, const std::string& first) {
  return {{"id", "i"},
          {"name", name},
          {"status", "ACTIVE"},
          {"tags", {"fastgpu-cluster=c", "fastgpu-first=" + first, "x=y=z"}}};
}

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE("the request for machines names all that they are made of") {
  const json body = launch_body(launch(), kNow);
  const json& request = body.at("server");
  CHECK(request.at("name") == "demo-node");
  CHECK(request.at("count") == 3);
  CHECK(request.at("flavorRef") == "p2s.2xlarge.8");
  CHECK(request.at("availability_zone") == "cn-north-4a");
  CHECK(request.at("vpcid") == "v");
  CHECK(request.at("nics").dump() == R"([{"subnet_id":"s"}])");
  CHECK(request.at("security_groups").dump() == R"([{"id":"g"}])");
  CHECK(request.at("user_data") == "aGVsbG8=");
  CHECK(request.at("publicip").at("delete_on_termination") == true);
  CHECK_FALSE(request.at("root_volume").contains("size"));
  CHECK_FALSE(request.contains("auto_terminate_time"));
  CHECK_FALSE(request.at("extendparam").contains("marketType"));
  CHECK(request.at("server_tags").size() == 4);
}

TEST_CASE("a spot price and a disk are asked for where they are wished") {
  cloud::Launch request = launch();
  request.market = cloud::Market::spot;
  request.max_price = Money{12.5, kCny};
  request.disk_gib = 200;
  const json server = launch_body(request, kNow).at("server");
  CHECK(server.at("extendparam").at("marketType") == "spot");
  CHECK(server.at("extendparam").at("spotPrice") == "12.5000");
  CHECK(server.at("root_volume").at("size") == 200);
}

TEST_CASE("a machine without a public address asks for none") {
  cloud::Launch request = launch();
  request.has_public_address = false;
  CHECK_FALSE(launch_body(request, kNow).at("server").contains("publicip"));
}

TEST_CASE("a data disk is asked for with its machine, and goes with it") {
  cloud::Launch request = launch();
  CHECK_FALSE(launch_body(request, kNow).at("server").contains("data_volumes"));
  request.data_disk = {500, ""};
  CHECK(
      launch_body(request, kNow).at("server").at("data_volumes") ==
      json::array({json{{"volumetype", "GPSSD"}, {"size", 500}, {"delete_on_termination", true}}}));
  request.data_disk.type = "ESSD";
  CHECK(launch_body(request, kNow).at("server").at("data_volumes")[0].at("volumetype") == "ESSD");
}

TEST_CASE("a launch repeated a little later is the same launch") {
  cloud::Launch request = launch();
  for (const auto life : {10min, 480min}) {
    request.release_at = kNow + life;
    CHECK(launch_body(request, kNow) == launch_body(request, kNow + 30s));
  }
}

TEST_CASE("the cloud's timer is never nearer than it takes") {
  CHECK(release_text(kNow + 8h, kNow) == "2023-11-15T06:13:00Z");
  CHECK(release_text(kNow + 1min, kNow) == "2023-11-14T23:00:00Z");
}

TEST_CASE("a token is a UUID, and the next one where it was forgotten") {
  const std::string token = launch().token;
  CHECK(client_token(token, 0) == "01234567-89ab-cdef-0123-456789abcdef");
  CHECK(client_token(token, 1) != client_token(token, 0));
  CHECK(client_token(token, 1) == client_token(token, 1));
  CHECK(client_token(token, 1).size() == 36);
}

TEST_CASE("which node a machine is follows from its name and the first one's tag") {
  const auto index = [](const std::string& name, const std::string& first) {
    return machine_of(server(name, first), "r").index;
  };
  CHECK(index("demo-node", "4") == 4);
  CHECK(index("demo-node-0001", "4") == 4);
  CHECK(index("demo-node-0003", "4") == 6);
  CHECK(index("demo-node-0007-node", "4") == 4);
  for (const char* name : {"", "demo", "demo-node-", "demo-node-0000", "demo-node-x", "demo-node1",
                           "demo-node--1", "demo-node-99999999999"})
    CHECK(index(name, "4") == -1);
  for (const char* first : {"", "x", "-1", "99999999999", "4 "})
    CHECK(index("demo-node", first) == -1);
}

TEST_CASE("a machine that was renamed is known by its host name") {
  json renamed = server("mine", "2");
  renamed["OS-EXT-SRV-ATTR:hostname"] = "demo-node-0002";
  CHECK(machine_of(renamed, "r").index == 3);
}

TEST_CASE("an entry of nothing but an id is of a machine that there is not") {
  const json fault = {{"code", 404}, {"message", "Instance[i] could not be found."}};
  const json nulls = {{"id", "i"},         {"name", nullptr},    {"status", nullptr},
                      {"flavor", nullptr}, {"created", nullptr}, {"tags", nullptr},
                      {"fault", fault}};
  CHECK(machine_of(nulls, "r").state == MachineState::gone);
  CHECK(machine_of(json{{"id", "i"}, {"fault", fault}}, "r").state == MachineState::gone);
  CHECK(machine_of(json{{"id", "i"}, {"status", ""}, {"flavor", json::object()}}, "r").state ==
        MachineState::gone);
  json odd = server("demo-node", "0");
  odd["status"] = nullptr;
  CHECK(machine_of(odd, "r").state == MachineState::pending);  // It is there, whatever it does.
}

TEST_CASE("the task under way tells what the status does not") {
  const auto state = [](const char* status, const json& task) {
    return machine_of(json{{"status", status}, {"OS-EXT-STS:task_state", task}}, "r").state;
  };
  CHECK(state("BUILD", "spawning") == MachineState::pending);
  CHECK(state("ACTIVE", nullptr) == MachineState::running);
  CHECK(state("ACTIVE", "powering-off") == MachineState::stopping);
  CHECK(state("SHUTOFF", nullptr) == MachineState::stopped);
  CHECK(state("SHUTOFF", "powering-on") == MachineState::pending);
  CHECK(state("ACTIVE", "deleting") == MachineState::ending);
  CHECK(state("ERROR", nullptr) == MachineState::failed);
  CHECK(state("DELETED", nullptr) == MachineState::gone);
  CHECK(state("NEW", nullptr) == MachineState::pending);
}

TEST_CASE("an address that is none is an error of the cloud") {
  json listed = server("demo-node", "0");
  listed["addresses"] = json::parse(
      R"({"vpc": [{"addr": "10.77.0.4 slots=99", "version": "4", "OS-EXT-IPS:type": "fixed"}]})");
  CHECK_THROWS_WITH_AS(machine_of(listed, "r"), doctest::Contains("huawei: machine"), Error);
}

TEST_CASE("addresses are told apart by their kind") {
  json listed = server("demo-node", "0");
  listed["addresses"] = json::parse(R"({"vpc": [
      {"addr": "fe80::1", "version": "6", "OS-EXT-IPS:type": "fixed"},
      {"addr": "10.77.0.4", "version": "4", "OS-EXT-IPS:type": "fixed"},
      {"addr": "198.18.0.1", "version": 4, "OS-EXT-IPS:type": "floating"}]})");
  const cloud::Machine machine = machine_of(listed, "r");
  CHECK(machine.private_address.text() == "10.77.0.4");
  CHECK(machine.address.text() == "198.18.0.1");
}

TEST_CASE("a job tells what it made, what it left broken, and why") {
  const json answer = json::parse(R"({"status": "FAIL", "entities": {"sub_jobs": [
      {"status": "SUCCESS", "entities": {"server_id": "a"}},
      {"status": "FAIL", "entities": {"server_id": "b"}, "error_code": "Ecs.0219",
       "fail_reason": "No valid host was found"},
      {"status": "FAIL", "entities": {}, "error_code": "Ecs.0001"}]}})");
  const HuaweiJob job = job_in(cloud::Answer(answer));
  CHECK(job.is_over);
  CHECK(job.made == std::vector<std::string>{"a"});
  CHECK(job.failed == std::vector<std::string>{"b"});
  REQUIRE(job.failure);
  CHECK(job.failure->kind == cloud::FailureKind::stock);
}

TEST_CASE("what is no job is one that has not ended") {
  for (const char* text : {"{}", R"({"status": 7})", R"({"status": "RUNNING", "entities": []})"}) {
    const json answer = json::parse(text);
    CHECK_FALSE(job_in(cloud::Answer(answer)).is_over);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
