#include "provision/providers/huawei/flavors.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::Market;
using cloud::Stock;
using nlohmann::json;

json flavor(const json& specs) {
  return {{"id", "p9.large.4"}, {"vcpus", "2"}, {"ram", 8192}, {"os_extra_specs", specs}};
}

TEST_SUITE_BEGIN("provision/huawei");

TEST_CASE("a GPU's name is its model's") {
  CHECK(gpu_name("NVIDIA Tesla V100-32G") == "V100");
  CHECK(gpu_name("nvidia-a30") == "A30");
  CHECK(gpu_name("Tesla T4") == "T4");
  CHECK(gpu_name("Ascend 310") == "Ascend310");
  CHECK(gpu_name("Ascend310") == "Ascend310");
  CHECK(gpu_name("") == "");
  CHECK(gpu_name("nothing of that kind") == "");
}

TEST_CASE("GPUs and accelerators are read from the texts they stand in") {
  const auto type = [](const json& specs) {
    const json described = flavor(specs);
    return type_of(Answer(described));
  };
  const auto gpus =
      type({{"info:gpus", R"([{"name": "NVIDIA V100", "count": 2, "memory_mb": 32768}])"}});
  CHECK(gpus.gpu == "V100");
  CHECK(gpus.gpus == 2);
  CHECK(gpus.gpu_memory_gib == 32);
  CHECK(gpus.cores == 2);
  CHECK(gpus.memory_gib == 8);
  CHECK(type({{"info:asic_accelerators", R"([{"name": "Ascend 310", "count": "4"}])"}}).gpu ==
        "Ascend310");
  CHECK(type({{"pci_passthrough:alias", "nvidia-a30:3"}}).gpus == 3);
  CHECK(type({{"ecs:instance_architecture", "arm64"}}).architecture == "arm64");
}

TEST_CASE("what an answer leaves out of a known type comes from the catalogue") {
  const json bare = {{"id", "p2s.4xlarge.8"}};
  const cloud::InstanceType type = type_of(Answer(bare));
  CHECK(type.gpu == "V100");
  CHECK(type.gpus == 2);
  CHECK(type.gpu_memory_gib == 32);
}

TEST_CASE("a zone's own condition goes before the region's") {
  const json sold = flavor({{"cond:operation:status", "abandon"},
                            {"cond:operation:az", "a(normal), b(sellout),c(promotion)"}});
  CHECK(stock_of(Answer(sold), "a", Market::on_demand) == Stock::unknown);
  CHECK(stock_of(Answer(sold), "b", Market::on_demand) == Stock::none);
  CHECK(stock_of(Answer(sold), "c", Market::on_demand) == Stock::unknown);
  CHECK_FALSE(stock_of(Answer(sold), "d", Market::on_demand));
  CHECK_FALSE(stock_of(Answer(sold), "a", Market::spot));
  CHECK(named_zones(Answer(sold)) == std::vector<std::string>{"a", "b", "c"});
  const json silent = flavor(json::object());
  CHECK(stock_of(Answer(silent), "a", Market::on_demand) == Stock::unknown);
}

TEST_CASE("texts that are not what they should be are as if they were not there") {
  for (const char* text :
       {"", "[", "7", "[7]", "[{}]", R"([{"name": 7, "count": "x"}])",
        R"([{"name": "V100", "count": -3}])", R"([{"name":"V100","count":1e99}])"}) {
    CAPTURE(text);
    const json odd = flavor({{"info:gpus", text},
                             {"pci_passthrough:alias", text},
                             {"cond:operation:az", text},
                             {"quota:max_rate", text}});
    const cloud::InstanceType type = type_of(Answer(odd));
    CHECK(type.gpus >= 0);
    CHECK(type.gpus <= 1024);
    CHECK(named_zones(Answer(odd)).empty());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::huawei
