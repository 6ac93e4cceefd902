// What nodes report for checks, placement and `top`, and a file of parameters.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "agent/protocol/link_probe.hpp"
#include "agent/protocol/topology.hpp"
#include "attempt.hpp"
#include "launcher/array.hpp"
#include "launcher/binding.hpp"
#include "launcher/checks/node_health.hpp"
#include "launcher/gpu_order.hpp"
#include "launcher/node_usage.hpp"

using fastgpu::ErrorKind;
using fastgpu::fuzz::attempt;
namespace agent = fastgpu::agent;
namespace launcher = fastgpu::launcher;

namespace {

std::vector<int> first_gpus(std::size_t count) {
  std::vector<int> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt<ErrorKind::remote>([&] { launcher::parse_usage(text); });
  attempt<ErrorKind::remote>([&] { launcher::parse_node_health(text); });
  attempt<ErrorKind::remote>([&] { launcher::node_time_in(text); });
  attempt<ErrorKind::remote>([&] {
    const auto topology = agent::parse_topology(text);
    const std::string once = agent::to_text(topology);
    if (agent::to_text(agent::parse_topology(once)) != once) __builtin_trap();
    for (const auto unit : {launcher::RankUnit::core, launcher::RankUnit::socket})
      launcher::rank_places(topology, unit);
    launcher::linked_pairs(topology);
    constexpr int kFewGpus = 8;
    const std::vector<int> gpus = first_gpus(std::min<std::size_t>(topology.gpus.size(), kFewGpus));
    if (launcher::order_gpus(topology, gpus, gpus.size()).size() != gpus.size()) __builtin_trap();
  });
  attempt<ErrorKind::remote>([&] {
    const std::string once = agent::cpu_list(agent::parse_cpu_list(text));
    if (agent::cpu_list(agent::parse_cpu_list(once)) != once) __builtin_trap();
  });
  attempt<ErrorKind::remote>([&] {
    const std::string once = agent::to_text(agent::parse_node_facts(text));
    if (agent::to_text(agent::parse_node_facts(once)) != once) __builtin_trap();
  });
  attempt<ErrorKind::remote>([&] { agent::parse_link_plan(text); });
  attempt<ErrorKind::remote>([&] { agent::parse_link_answer(text); });
  attempt<ErrorKind::usage>([&] { launcher::parse_array_range(text); });
  for (const std::string path : {"values.csv", "values.txt"})
    attempt<ErrorKind::usage>([&] { launcher::parse_parameters(text, path); });
  return 0;
}
