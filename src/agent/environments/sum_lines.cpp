#include "agent/environments/sum_lines.hpp"

#include "base/hex.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::string_view kSum = "sum ";
constexpr std::size_t kDigits = 64;

}  // namespace

std::string to_sum_line(const std::string& path, const transfer::Digest& sum) {
  return std::string(kSum) + hex(sum) + " " + path + "\n";
}

KnownSums parse_sum_lines(std::string_view text) {
  constexpr std::size_t kPath = kSum.size() + kDigits + 1;
  KnownSums sums;
  for (std::size_t from = 0, end = 0; (end = text.find('\n', from)) != text.npos; from = end + 1) {
    const std::string_view line = text.substr(from, end - from);
    if (!line.starts_with(kSum) || line.size() <= kPath) continue;
    if (const auto sum = transfer::parse_digest(line.substr(kSum.size(), kDigits)))
      sums.insert_or_assign(std::string(line.substr(kPath)), *sum);
  }
  return sums;
}

}  // namespace fastgpu::agent
