#include "base/names.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"

namespace fastgpu {
namespace {

constexpr std::size_t kLongestName = 40;  // Leaves room for "-<index>" in a 64-byte host name.

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_name(std::string_view value) {
  if (value.empty() || value.size() > kLongestName) return false;
  if (!is_lower(value.front()) || value.back() == '-') return false;
  return std::ranges::all_of(value,
                             [](char c) { return is_lower(c) || is_ascii_digit(c) || c == '-'; });
}

/// Returns the number of edits from `a` to `b`: letters to insert, remove, replace, or swap with
/// their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row_before_last(b.size() + 1);
  std::vector<std::size_t> last_row(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(row_before_last, last_row);
    std::swap(last_row, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last_row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last_row[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], row_before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// Returns true if the user may have meant `candidate` by `word` at this distance. Nearly
/// everything is close to a short word. Therefore a short word must begin with the same letter and
/// differ in one place only.
bool may_be_meant(std::string_view word, std::string_view candidate, std::size_t distance) {
  constexpr std::size_t kShort = 4;
  if (word.size() > kShort) return distance <= std::max<std::size_t>(2, word.size() / 3);
  return distance <= 1 && !word.empty() && !candidate.empty() && word.front() == candidate.front();
}

}  // namespace

void check_name(std::string_view what, std::string_view value) {
  if (is_name(value)) return;
  throw Error(ErrorKind::usage, std::string(what) + " '" + printable(value) +
                                    "' is not usable: use 1 to 40 of a-z, 0-9 and '-', begin with "
                                    "a letter and do not end in '-'");
}

JobName parse_job_name(std::string_view text) {
  check_name("job name", text);
  return {std::string(text)};
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t least = std::string_view::npos;
  if (word.size() > 4 * kLongestName) return best;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= least || !may_be_meant(word, candidate, distance)) continue;
    least = distance;
    best = candidate;
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
