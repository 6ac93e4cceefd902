#include "cli/commands/show/top_view.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

using launcher::NodeUsage;

TEST_SUITE_BEGIN("cli/commands/top_view");

std::vector<std::string> texts_of(const View& view, std::size_t row) {
  std::vector<std::string> texts;
  for (const Cell& cell : view.table.rows.at(row))
    texts.push_back(cell.text);
  return texts;
}

NodeUsage busy_node() {
  return {.busy = 0.354,
          .memory_used = {2'000'000'000},
          .memory = {16'000'000'000},
          .received_each_second = {1'500'000},
          .sent_each_second = {0},
          .gpus = {{0, 97, {1'000'000'000}, {80'000'000'000}},
                   {1, 95, {3'000'000'000}, {80'000'000'000}}}};
}

TEST_CASE("a row shows what a node uses, and which ranks run on it") {
  const std::vector<UsageOfNode> nodes = {{{"demo-0"}, busy_node()}};
  const std::vector<JobOnNodes> jobs = {
      {"train-1",
       {{.node = {"demo-0"}, .first = 0, .count = 4}, {.node = {"demo-1"}, .first = 4}},
       {{"epoch", "3", 3}, {"loss", "0.53", 0.53}}},
      {"eval-2", {{.node = {"demo-0"}, .first = 3, .count = 1}}},
      {"other-3", {{.node = {"demo-1"}, .first = 0, .count = 1}}}};
  const View view = view_of_usage("demo", nodes, jobs);
  CHECK(texts_of(view, 0) == std::vector<std::string>{"demo-0", "35%", "2 GB of 16 GB", "2: 96%",
                                                      "4 GB of 160 GB", "1.5 MB/s", "0 B/s",
                                                      "train-1: ranks 0-3, eval-2: rank 3",
                                                      "train-1: epoch 3, loss 0.53"});
  const Json& node = view.root["nodes"][0];
  CHECK(view.root["schema"] == "fastgpu.top/1");
  CHECK(node["busy_percent"] == 35);
  CHECK(node["gpus"][1]["busy_percent"] == 95);
  CHECK(node["jobs"] == Json::parse(R"([{"id":"train-1","first_rank":0,"ranks":4},
                        {"id":"eval-2","first_rank":3,"ranks":1}])"));
  CHECK(node["error"] == nullptr);
}

TEST_CASE("a node whose nvidia-smi does not answer has GPUs that are unknown") {
  NodeUsage without = busy_node();
  without.gpus.clear();
  NodeUsage silent = without;
  silent.is_gpu_tool_silent = true;
  const std::vector<UsageOfNode> nodes = {{{"demo-0"}, without}, {{"demo-1"}, silent}};
  const View view = view_of_usage("demo", nodes, {});
  CHECK(texts_of(view, 0)[3] == "-");
  CHECK(texts_of(view, 1)[3] == "no answer");
  CHECK(view.root["nodes"][0]["gpus"] == Json::array());
  CHECK(view.root["nodes"][1]["gpus"].is_null());
}

TEST_CASE(
    "the metrics of a job are in the row of its first node, and by its name in the document") {
  const std::vector<UsageOfNode> nodes = {{{"demo-0"}, busy_node()}, {{"demo-1"}, busy_node()}};
  const std::vector<JobOnNodes> jobs = {
      {"train-1",
       {{.node = {"demo-0"}, .count = 1}, {.node = {"demo-1"}, .first = 1, .count = 1}},
       metrics_in("epoch 3, loss nan")},
      {"eval-2", {{.node = {"demo-1"}, .count = 1}}, metrics_in("acc=91.2%")},
      {"quiet-3", {{.node = {"demo-1"}, .count = 1}}}};
  const View view = view_of_usage("demo", nodes, jobs);
  CHECK(texts_of(view, 0).back() == "train-1: epoch 3, loss nan");
  CHECK(texts_of(view, 1).back() == "eval-2: acc 91.2");
  CHECK(view.root["metrics"] == Json::parse(R"({"train-1": [
      {"name": "epoch", "value": 3.0, "text": "3"}, {"name": "loss", "value": null, "text": "nan"}],
      "eval-2": [{"name": "acc", "value": 91.2, "text": "91.2"}]})"));
  // Only the second node is shown.
  const View second = view_of_usage("demo", std::span(nodes).subspan(1), jobs);
  CHECK(texts_of(second, 0).back() == "train-1: epoch 3, loss nan; eval-2: acc 91.2");
}

TEST_CASE("a job whose engine chooses the nodes has a row of its own") {
  const std::vector<UsageOfNode> nodes = {{{"demo-0"}, busy_node()}};
  const std::vector<JobOnNodes> jobs = {{.id = "train-1",
                                         .placement = {{.node = {"demo-0"}, .count = 4}},
                                         .metrics = metrics_in("loss 0.5"),
                                         .engine = state::EngineKind::slurm,
                                         .engine_nodes = "demo-[0-1]"},
                                        {.id = "eval-2",
                                         .placement = {{.node = {"kubernetes"}, .count = 1}},
                                         .engine = state::EngineKind::kubernetes}};
  const View view = view_of_usage("demo", nodes, jobs);
  REQUIRE(view.table.rows.size() == 3);
  CHECK(texts_of(view, 0).back() == "-");
  CHECK(texts_of(view, 1) == std::vector<std::string>{"slurm", "-", "-", "-", "-", "-", "-",
                                                      "train-1: ranks 0-3 on demo-[0-1]",
                                                      "train-1: loss 0.5"});
  CHECK(texts_of(view, 2)[7] == "eval-2: rank 0");
  CHECK(view.root["nodes"][0]["jobs"].empty());
  CHECK(view.root["engine_jobs"] ==
        Json::parse(R"([{"id":"train-1","engine":"slurm","ranks":4,"nodes":"demo-[0-1]"},
                        {"id":"eval-2","engine":"kubernetes","ranks":1,"nodes":null}])"));
  CHECK(view.root["metrics"]["train-1"][0]["name"] == "loss");
  CHECK(view.names == std::vector<std::string>{"demo-0"});
  CHECK(view_of_usage("", {}, jobs).root["cluster"].is_null());
}

TEST_CASE("a GPU that is idle beside busy ones is visible") {
  NodeUsage usage = busy_node();
  usage.gpus[1].percent = 0;
  CHECK(texts_of(view_of_usage("demo", std::vector<UsageOfNode>{{{"demo-0"}, usage}}, {}), 0)[3] ==
        "2: 0-97%");
  usage.gpus[1].percent.reset();
  CHECK(texts_of(view_of_usage("demo", std::vector<UsageOfNode>{{{"demo-0"}, usage}}, {}), 0)[3] ==
        "2: ?");
}

TEST_CASE("a node without an answer has its row, and the reason in the document") {
  const HostResult<launcher::UsageCounters> silent = {
      {"demo-0"}, Error(ErrorKind::transient, "connection refused")};
  const HostResult<launcher::UsageCounters> well = {{"demo-0"}, launcher::UsageCounters{}};
  for (const auto& [before, after] : {std::pair(silent, well), std::pair(well, silent)}) {
    const auto nodes = usage_of_nodes(std::span(&before, 1), std::span(&after, 1));
    const View view = view_of_usage("demo", nodes, {});
    CHECK(texts_of(view, 0)[1] == "no answer");
    CHECK(view.root["nodes"][0]["error"]["kind"] == "transient");
    CHECK(view.root["nodes"][0]["error"]["message"] == "connection refused");
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
