#include "transfer/relay_report.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fastgpu::transfer {
namespace {

constexpr std::size_t kLongestText = 1024;

template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

std::optional<RelayReport> parse_line(std::string_view line) {
  const auto distance = take_number<std::size_t>(line);
  const auto status = distance ? take_number<int>(line) : std::nullopt;
  if (!status || *distance > kMaxDistance) return std::nullopt;
  return RelayReport{*distance, *status, std::string(line.substr(0, kLongestText))};
}

}  // namespace

std::string to_line(const RelayReport& report) {
  std::string text = report.text.substr(0, kLongestText);
  std::ranges::replace(text, '\n', ' ');
  return std::to_string(report.distance) + " " + std::to_string(report.status) + " " + text + "\n";
}

std::vector<RelayReport> parse_reports(std::string_view text) {
  std::vector<RelayReport> reports;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1))
    if (auto report = parse_line(text.substr(0, end))) reports.push_back(std::move(*report));
  return reports;
}

}  // namespace fastgpu::transfer
