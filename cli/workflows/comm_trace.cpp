#include "cli/workflows/comm_trace.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/json.hpp"

namespace fastgpu::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kMostName = 40;
constexpr std::size_t kMostLine = 1'024;
constexpr std::uint64_t kMostRow = 64;
constexpr double kMostMicroseconds = 1e15;  // 30 years, whose nanoseconds fit 64 bits.

/// Returns the event's part of a line: without the comma before, and the brackets after the last.
std::string_view event_text(std::string_view line) {
  constexpr std::string_view kAround = " \t\r,";
  const auto begin = line.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  line = line.substr(begin, line.find_last_not_of(kAround) + 1 - begin);
  if (line.ends_with("]}")) line.remove_suffix(2);
  return line;
}

/// Returns an unsigned member of an object, at most `most`; absent if it is missing or another.
std::optional<std::uint64_t> whole_in(const json& object, const char* key, std::uint64_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<std::uint64_t>();
  return value <= most ? std::optional(value) : std::nullopt;
}

/// Returns a time, in nanoseconds; absent if it is missing, no number or out of range.
std::optional<std::int64_t> time_in(const json& event, const char* key, double least) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  if (!(value >= least && value <= kMostMicroseconds)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(value * 1'000));
}

std::optional<TraceEvent> event_in(const json& event) {
  if (!event.is_object()) return std::nullopt;
  const auto name = event.find("name");
  const auto args = event.find("args");
  if (name == event.end() || !name->is_string() || args == event.end() || !args->is_object())
    return std::nullopt;
  const auto row = whole_in(event, "tid", kMostRow);
  const auto step = whole_in(*args, "step", UINT32_MAX);
  const auto number = whole_in(*args, "number", UINT64_MAX);
  const auto began = time_in(event, "ts", -kMostMicroseconds);
  const auto length = time_in(event, "dur", 0);
  const auto& text = name->get_ref<const std::string&>();
  if (event.value("ph", json()) != "X" || text.empty() || text.size() > kMostName || !row ||
      !step || !number || !began || !length)
    return std::nullopt;
  return TraceEvent{.name = text,
                    .row = static_cast<int>(*row),
                    .step = static_cast<std::uint32_t>(*step),
                    .number = *number,
                    .bytes = whole_in(*args, "bytes", INT64_MAX).value_or(0),
                    .began = *began,
                    .length = *length};
}

/// Returns true for lines that a right file has besides its events.
bool is_frame(std::string_view line) {
  return line.empty() || line.starts_with("{\"displayTimeUnit\"");
}

}  // namespace

RankTrace parse_trace(std::string_view text, std::uint64_t size) {
  RankTrace trace{.size = size, .bytes_read = text.size()};
  // The end of a file begins in the middle of a line.
  if (text.size() < size) text.remove_prefix(std::min(text.find('\n'), text.size()));
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = event_text(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_frame(line)) continue;
    auto event = line.size() <= kMostLine ? event_in(try_parse_json(line)) : std::nullopt;
    if (event)
      trace.events.push_back(*std::move(event));
    else
      ++trace.unread_lines;
  }
  return trace;
}

bool waits_for_all(std::string_view name) noexcept {
  return name == "all-reduce" || name == "exact average";
}

}  // namespace fastgpu::cli
