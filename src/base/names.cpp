#include "base/names.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace fastgpu {
namespace {

constexpr std::size_t kLongestName = 40;  // Leaves room for "-<index>" in a 64-byte host name.

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(std::string_view value) {
  if (value.empty() || value.size() > kLongestName) return false;
  if (!is_lower(value.front()) || value.back() == '-') return false;
  return std::ranges::all_of(value, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

/// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

void check_name(std::string_view what, std::string_view value) {
  if (is_name(value)) return;
  throw Error(ErrorKind::usage, std::string(what) + " '" + printable(value) +
                                    "' is not usable: use 1 to 40 of a-z, 0-9 and '-', begin with "
                                    "a letter and do not end in '-'");
}

ClusterName parse_cluster_name(std::string_view text) {
  check_name("cluster name", text);
  return {std::string(text)};
}

JobName parse_job_name(std::string_view text) {
  check_name("job name", text);
  return {std::string(text)};
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  if (word.size() > 4 * kLongestName) return best;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + first_code_point(text.substr(end)).bytes;
    if (next > most) break;
    end = next;
  }
  return escaped(text.substr(0, end), Layout::one_line) + (end < text.size() ? "..." : "");
}

}  // namespace fastgpu
