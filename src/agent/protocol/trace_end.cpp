#include "agent/protocol/trace_end.hpp"

#include "agent/protocol/records.hpp"

namespace fastgpu::agent {

std::string to_text(const std::vector<TraceEnd>& ends) {
  Records records;
  for (const TraceEnd& end : ends) {
    Records item;
    item.add("rank", end.rank);
    item.add("size", static_cast<std::int64_t>(end.size));
    item.add("text", end.text);
    records.add("trace", item);
  }
  return records.text();
}

std::vector<TraceEnd> parse_trace_ends(std::string_view text) {
  const Records records(text, "the timelines of a job");
  std::vector<TraceEnd> ends;
  for (const Records& item : records.nested("trace", "the timeline of a rank"))
    ends.push_back({.rank = static_cast<int>(item.number("rank")),
                    .size = static_cast<std::uint64_t>(item.number("size")),
                    .text = item.get("text")});
  return ends;
}

}  // namespace fastgpu::agent
