#include "provision/cluster_record.hpp"
#include "base/json.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using test::failure_of;

ClusterRecord sample() {
  const state::ClusterId id{"1a2b3c4d"};
  return {.cluster = {.id = id,
                      .name = {"t"},
                      .provider = "aws",
                      .slots = 8,
                      .user = "ubuntu",
                      .provider_spec = state::CloudSpec{.region = "us-east-1"},
                      .network = state::CloudPlacement{.place = 1},
                      .created = state::TimePoint(1000s)},
          .nodes = {{.cluster = id,
                     .index = 3,
                     .name = {"t-3"},
                     .token = "0123456789abcdef0123456789abcdef",
                     .user = "ubuntu",
                     .slots = 8,
                     .host_keys = {"ssh-ed25519 AAAA"}}},
          .runs = {{.index = 3, .began = state::TimePoint(1000s), .ended = state::TimePoint(2000s)},
                   {.index = 3, .began = state::TimePoint(3000s), .ended = {}}}};
}

TEST_CASE("what is written can be read") {
  const ClusterRecord record = parse_cluster_record(to_text(sample()));
  CHECK(record.cluster.name.value == "t");
  CHECK(record.cluster.created == state::TimePoint(1000s));
  CHECK(record.cluster.cloud().region == "us-east-1");
  CHECK(record.cluster.placement().place == 1);
  REQUIRE(record.nodes.size() == 1);
  CHECK(record.nodes[0].cluster.value == "1a2b3c4d");
  CHECK(record.nodes[0].index == 3);
  CHECK(record.nodes[0].host_keys == std::vector<std::string>{"ssh-ed25519 AAAA"});
  REQUIRE(record.runs.size() == 2);
  CHECK(record.runs[0].ended == state::TimePoint(2000s));
  CHECK_FALSE(record.runs[1].ended);
}

TEST_CASE("no address, no key file and nothing of a machine is in it") {
  ClusterRecord record = sample();
  record.nodes[0].address = "ADDRESS";
  record.nodes[0].identity_file = "IDENTITY";
  record.nodes[0].instance_id = "INSTANCE";
  for (const char* secret : {"ADDRESS", "IDENTITY", "INSTANCE"})
    CHECK(to_text(record).find(secret) == std::string::npos);
}

TEST_CASE("what no fastgpu writes is refused, whatever it is") {
  const json good = json::parse(to_text(sample()));
  const auto with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return changed.dump();
  };
  for (const std::string& text : {std::string(),
                                  std::string("{"),
                                  std::string("[]"),
                                  std::string("{}"),
                                  with("/schema", "fastgpu/cluster-record/v2"),
                                  with("/cluster", 1),
                                  with("/cluster/id", "../../etc"),
                                  with("/cluster/name", "a b"),
                                  with("/cluster/slots", 0),
                                  with("/cluster/provider", "local"),
                                  with("/cluster/user", "root; reboot"),
                                  with("/cluster/created", -1),
                                  with("/nodes", json::array()),
                                  with("/nodes", json::object()),
                                  with("/nodes/0/index", -1),
                                  with("/nodes/0/index", 1e18),
                                  with("/nodes/0/name", "-x"),
                                  with("/nodes/0/token", "short"),
                                  with("/nodes/0/user", ""),
                                  with("/nodes/0/host_keys", {}),
                                  with("/nodes/0/host_keys/0", "ssh-ed25519 A\nB"),
                                  with("/nodes/0/host_keys/0", "ssh-rsa A"),
                                  with("/nodes/1", good["nodes"][0]),
                                  with("/runs", nullptr),
                                  with("/runs/0/began", "now"),
                                  with("/runs/0/ended", 1e300)}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_cluster_record(text); }).kind() == ErrorKind::remote);
  }
}

TEST_CASE("a record beyond its bound is not even parsed") {
  const std::string large(kLargestRecord + 1, ' ');
  CHECK(failure_of([&] { parse_cluster_record(large); }).kind() == ErrorKind::remote);
}

}  // namespace
}  // namespace fastgpu::provision
