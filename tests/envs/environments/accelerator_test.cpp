#include "envs/environments/accelerator.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

KnownNode nvidia(const std::string& driver, const std::string& model = "NVIDIA H100") {
  KnownNode node{.name = "gpu", .facts = {}};
  node.facts.gpus = {{.vendor = "nvidia", .model = model}};
  node.facts.nvidia.loaded = driver;
  return node;
}

KnownNode ascend(const std::string& cann) {
  KnownNode node{.name = "npu", .facts = {}};
  node.facts.gpus = {{.vendor = "ascend", .pci_id = "d802"}};
  node.facts.cann = cann;
  return node;
}

const KnownNode kPlain{.name = "plain", .facts = {}};

AcceleratorChoice choose(const std::string& text, const std::vector<KnownNode>& nodes) {
  const WantedName wanted = parse_wanted_name(text);
  REQUIRE_FALSE(wanted.has_accelerator);
  return choose_accelerator(builtin_matrix(), wanted.name, nodes);
}

TEST_SUITE_BEGIN("envs/accelerator");

TEST_CASE("what the nodes have decides what a name computes on") {
  struct Row {
    const char* text;
    std::vector<KnownNode> nodes;
    const char* name;
    const char* reason;
  };
  const std::vector<Row> rows = {
      {"tr2.8.0_py311", {kPlain}, "tr2.8.0_cpu_py311", "no node has a GPU that is in the matrix"},
      {"tr2.8.0_py311",
       {nvidia("570.26")},
       "tr2.8.0_cu12.8_py311",
       "driver 570.26 supports CUDA 12.8"},
      {"tr2.8.0_py311",
       {nvidia("580.95.05")},
       "tr2.8.0_cu12.9_py311",
       "driver 580.95.05 supports CUDA 12.9"},
      {"tr2.5.1_py311",
       {nvidia("535.54.03")},
       "tr2.5.1_cu12.1_py311",
       "driver 535.54.03 supports CUDA 12.1"},
      {"tf2.20_py312",
       {nvidia("535.54.03")},
       "tf2.20_cu12.9_py312",
       "driver 535.54.03 supports CUDA 12.9 except for its new features"},
      {"tr2.8.0_py311",
       {nvidia("580.95.05"), nvidia("570.26")},
       "tr2.8.0_cu12.8_py311",
       "driver 580.95.05, 570.26 support CUDA 12.8"},
      {"tr2.9.1_py311",
       {nvidia("")},
       "tr2.9.1_cu13.0_py311",
       "some nodes have no driver yet, and 580 supports CUDA 13.0"},
      {"tr2.9.1_py311",
       {nvidia(""), nvidia("570.26")},
       "tr2.9.1_cu12.8_py311",
       "some nodes have no driver yet, and 580, 570.26 support CUDA 12.8"},
      // CUDA 13 has left these out.
      {"tr2.9.1_py311",
       {nvidia("580.95.05", "Tesla V100-SXM2-16GB")},
       "tr2.9.1_cu12.8_py311",
       "driver 580.95.05 supports CUDA 12.8"},
      {"tf2.20_py312",
       {kPlain, kPlain},
       "tf2.20_cpu_py312",
       "no node has a GPU that is in the matrix"},
      {"tr2.8.0_py311", {ascend("8.5.0")}, "tr2.8.0_can8.5.0_py311", "CANN 8.5.0 is installed"},
      {"tr2.8.0_py311",
       {ascend("8.3.RC1.2"), ascend("8.3.RC1.2")},
       "tr2.8.0_can8.3.RC1_py311",
       "CANN 8.3.RC1.2 is installed"},
      {"tr2.8.0_py311",
       {ascend("")},
       "tr2.8.0_can8.5.0_py311",
       "the nodes have Ascend processors but no CANN yet, and CANN 8.5.0 is the newest"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const AcceleratorChoice choice = choose(row.text, row.nodes);
    CHECK(to_string(choice.name) == row.name);
    CHECK(choice.reason == row.reason);
  }
}

TEST_CASE("what cannot be chosen is refused with what would help") {
  struct Row {
    const char* text;
    std::vector<KnownNode> nodes;
    ErrorKind kind;
    const char* said;
  };
  const std::vector<Row> rows = {
      {"tr2.8.0_py311",
       {nvidia("580.95.05"), kPlain},
       ErrorKind::conflict,
       "the nodes differ: gpu has 1 x NVIDIA H100, plain has no GPU: choose the accelerator, as in "
       "tr2.8.0_cpu_py311, or use nodes of one kind"},
      {"tr2.8.0_py311",
       {ascend("8.5.0"), ascend("")},
       ErrorKind::conflict,
       "npu has 1 x ascend d802 with CANN 8.5.0, npu has 1 x ascend d802 with no CANN"},
      {"tr2.8.0_py311",
       {nvidia("470.42.01")},
       ErrorKind::usage,
       "driver 470.42.01 supports no CUDA"},
      {"tr2.8.0_py311",
       {ascend("8.1.RC1")},
       ErrorKind::usage,
       "PyTorch 2.8.0 is available for can8.3.RC1, can8.5.0, cpu, "},
      {"tf2.20_py312", {ascend("")}, ErrorKind::usage, "is not available for Ascend"},
      {"tf2.19_py312", {kPlain}, ErrorKind::usage, "not for cpu"},
      {"tr9.9_py312", {kPlain}, ErrorKind::usage, "PyTorch 9.9 is unknown"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.said);
    const Error e = failure_of([&] { choose(row.text, row.nodes); });
    CHECK(e.kind() == row.kind);
    CAPTURE(e.what());
    CHECK(std::string(e.what()).find(row.said) != std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
