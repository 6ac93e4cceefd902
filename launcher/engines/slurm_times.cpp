#include "launcher/engines/slurm_times.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/split.hpp"

namespace fastgpu::launcher {
namespace {

std::optional<std::chrono::seconds> seconds_in(std::string_view text) {
  constexpr std::size_t kMostDigits = 12;
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end.ec == std::errc() && end.ptr == text.data() + text.size();
  if (!is_number || value <= 0 || text.size() > kMostDigits) return std::nullopt;
  return std::chrono::seconds(value);
}

/// Returns the rest of the first line that begins with `mark`; empty without such a line.
std::string_view rest_after(std::string_view answer, std::string_view mark) {
  for (const std::string_view line : split_lines(answer))
    if (line.starts_with(mark)) return line.substr(mark.size());
  return {};
}

}  // namespace

SlurmAge age_of(std::string_view time, std::string_view answer) {
  const auto then = seconds_in(time);
  const auto now = seconds_in(rest_after(answer, "clock "));
  if (!then || !now || *then > *now) return std::nullopt;
  return *now - *then;
}

SlurmAge age_of_script_end(std::string_view answer) {
  return age_of(rest_after(answer, "ended "), answer);
}

}  // namespace fastgpu::launcher
