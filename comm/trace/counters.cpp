#include "comm/trace/counters.hpp"

#include <array>
#include <cstdio>

#include "comm/trace/link_counts.hpp"

namespace fastgpu::comm {
namespace {

/// Formats a number; whole numbers up to 2^53 as such.
std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.16g", value);
  return text.data();
}

std::string json_of(const Counter& counter) {
  if (counter.by_stream.empty()) return number(counter.value);
  std::string list;
  for (const double value : counter.by_stream)
    list += (list.empty() ? "[" : ", ") + number(value);
  return list + "]";
}

std::string sample(const std::string& name, const std::string& labels, double value) {
  return name + "{" + labels + "} " + number(value) + "\n";
}

}  // namespace

std::string counters_json(std::span<const Counter> counters, std::span<const LinkCounters> links,
                          Rank rank) {
  std::string text = R"({"schema": "fastgpu.comm.counters/1", "rank": )" +
                     std::to_string(rank.value) + R"(, "counters": {)";
  const char* separator = "";
  for (const Counter& counter : counters) {
    text += separator;
    text += '"' + std::string(counter.name) + "\": " + json_of(counter);
    separator = ", ";
  }
  return text + R"(}, "links": )" + links_list(links) + "}\n";
}

std::string counters_prometheus(std::span<const Counter> counters,
                                std::span<const LinkCounters> links, Rank rank) {
  const std::string of_rank = "rank=\"" + std::to_string(rank.value) + "\"";
  std::string text;
  for (const Counter& counter : counters) {
    const std::string name =
        "fastgpu_comm_" + std::string(counter.name) + (counter.is_state ? "" : "_total");
    text += "# HELP " + name + " " + std::string(counter.help) + "\n# TYPE " + name +
            (counter.is_state ? " gauge\n" : " counter\n");
    if (counter.by_stream.empty()) text += sample(name, of_rank, counter.value);
    for (std::size_t stream = 0; stream < counter.by_stream.size(); ++stream)
      text += sample(name, of_rank + ",lane=\"" + std::to_string(stream) + "\"",
                     counter.by_stream[stream]);
  }
  return text + links_prometheus(links, rank);
}

}  // namespace fastgpu::comm
