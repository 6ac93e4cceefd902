#include "comm/trace/counters.hpp"

#include <array>
#include <cstdio>

namespace fastgpu::comm {
namespace {

/// Whole numbers up to 2^53 as such.
std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.16g", value);
  return text.data();
}

}  // namespace

std::string counters_json(std::span<const Counter> counters, Rank rank) {
  std::string text = R"({"schema": "fastgpu.comm.counters/1", "rank": )" +
                     std::to_string(rank.value) + R"(, "counters": {)";
  const char* separator = "";
  for (const Counter& counter : counters) {
    text += separator;
    text += '"' + std::string(counter.name) + "\": " + number(counter.value);
    separator = ", ";
  }
  return text + "}}\n";
}

std::string counters_prometheus(std::span<const Counter> counters, Rank rank) {
  std::string text;
  for (const Counter& counter : counters) {
    const std::string name = "fastgpu_comm_" + std::string(counter.name) + "_total";
    text += "# HELP " + name + " " + std::string(counter.help) + "\n# TYPE " + name + " counter\n" +
            name + "{rank=\"" + std::to_string(rank.value) + "\"} " + number(counter.value) + "\n";
  }
  return text;
}

}  // namespace fastgpu::comm
