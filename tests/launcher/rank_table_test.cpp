#include "launcher/engines/rank_table.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/json.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

RankTableNode npu_node(const std::string& name, const std::string& network, int ranks = 2) {
  return {
      .name = {name},
      .address = network + ".1",
      .npus = {{.device = 0, .address = network + ".8"}, {.device = 1, .address = network + ".9"}},
      .ranks = ranks};
}

std::string refusal_of_table(const std::vector<RankTableNode>& nodes) {
  const Error e = failure_of([&] { rank_table(nodes); });
  CHECK(e.kind() == ErrorKind::conflict);
  return e.what();
}

TEST_SUITE_BEGIN("launcher/engines/rank_table");

TEST_CASE("a rank table names the processor of each rank, in the order of the nodes") {
  const std::vector<RankTableNode> nodes = {npu_node("n-0", "10.0.0"), npu_node("n-1", "10.0.1")};
  const auto table = nlohmann::json::parse(rank_table(nodes));
  const auto wanted = nlohmann::json::parse(R"({
    "status": "completed", "version": "1.0", "server_count": "2",
    "server_list": [
      {"server_id": "10.0.0.1",
       "device": [{"device_id": "0", "device_ip": "10.0.0.8", "rank_id": "0"},
                  {"device_id": "1", "device_ip": "10.0.0.9", "rank_id": "1"}]},
      {"server_id": "10.0.1.1",
       "device": [{"device_id": "0", "device_ip": "10.0.1.8", "rank_id": "2"},
                  {"device_id": "1", "device_ip": "10.0.1.9", "rank_id": "3"}]}]})");
  CHECK(table == wanted);
}

TEST_CASE("ranks get the first processors of their node") {
  std::vector<RankTableNode> nodes = {npu_node("n-0", "10.0.0", 1), npu_node("n-1", "10.0.1", 1)};
  nodes[1].npus.erase(nodes[1].npus.begin());
  const auto table = nlohmann::json::parse(rank_table(nodes));
  const auto& second = table["server_list"][1]["device"];
  REQUIRE(second.size() == 1);
  CHECK(second[0]["device_id"] == "1");
  CHECK(second[0]["rank_id"] == "1");
}

TEST_CASE("a node that is alone needs no addresses of processors") {
  std::vector<RankTableNode> nodes = {npu_node("n-0", "10.0.0")};
  for (auto& npu : nodes[0].npus)
    npu.address.clear();
  const auto table = nlohmann::json::parse(rank_table(nodes));
  CHECK_FALSE(table["server_list"][0]["device"][0].contains("device_ip"));
  CHECK(table["server_list"][0]["device"][1]["rank_id"] == "1");
}

TEST_CASE("a table that HCCL would refuse is refused, with the node") {
  const std::vector<RankTableNode> good = {npu_node("n-0", "10.0.0"), npu_node("n-1", "10.0.1")};
  auto nodes = good;
  nodes[1].ranks = 3;
  CHECK(refusal_of_table(nodes) == "n-1 has 2 Ascend processors for 3 ranks");
  nodes = good;
  nodes[1].npus.clear();
  CHECK(refusal_of_table(nodes) == "n-1 has 0 Ascend processors for 2 ranks");
  nodes = good;
  nodes[0].npus[1].address.clear();
  CHECK(refusal_of_table(nodes) ==
        "n-0 has no address for Ascend processor 1 in /etc/hccn.conf, which other nodes need");
  nodes = good;
  nodes[1].npus[0].address = "10.0.0.300";
  CHECK(refusal_of_table(nodes) == "n-1 has '10.0.0.300' as the address of Ascend processor 0");
  nodes = good;
  nodes[1].npus[0].address = "10.0.0.8";
  CHECK(refusal_of_table(nodes) ==
        "n-1 has an Ascend processor with the address 10.0.0.8, which one of n-0 has, too");
  nodes = good;
  nodes[1].address = nodes[0].address;
  CHECK(refusal_of_table(nodes) == "n-1 has the address of another node, 10.0.0.1");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
