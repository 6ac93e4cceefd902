#include "base/name_ranges.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu {
namespace {

constexpr std::size_t kMostDigits = 9;  // Fits an int.
constexpr std::size_t kLongestItem = 1'024;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_ascii_digit);
}

int number(std::string_view text) {
  return to_number<int>(text).value_or(0);
}

/// Returns the width of a number with leading zeros, else 0.
std::size_t width_of(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0' ? digits.size() : 0;
}

/// Appends the numbers of "0-3", "01-16" or "7". Returns false for any other `range`.
bool append_range(std::string_view range, std::size_t most, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
  if (!is_number(first) || !is_number(last) || number(last) < number(first)) return false;
  if (static_cast<std::size_t>(number(last) - number(first)) >= most - std::min(out.size(), most))
    throw Error(ErrorKind::usage, "'" + printable(range) + "' names over " + counted(most, "node"));
  for (int i = number(first); i <= number(last); ++i) {
    std::string digits = std::to_string(i);
    if (digits.size() < width_of(first)) digits.insert(0, width_of(first) - digits.size(), '0');
    out.push_back(std::move(digits));
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::string_view>> split_name_list(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (depth < 0) return std::nullopt;
    if (c != ',' || (depth != 0 && i < text.size())) continue;
    items.push_back(text.substr(begin, i - begin));
    begin = i + 1;
    if (items.back().empty() || depth != 0) return std::nullopt;
  }
  return items;
}

std::optional<std::vector<std::string>> expand_name(std::string_view item, std::size_t most) {
  const std::size_t open = item.find('[');
  if (item.size() > kLongestItem) return std::nullopt;
  if (open == item.npos)
    return item.find(']') == item.npos ? std::optional(std::vector{std::string(item)})
                                       : std::nullopt;
  const std::size_t close = item.find(']', open);
  if (close == item.npos) return std::nullopt;
  const auto ranges = split_name_list(item.substr(open + 1, close - open - 1));
  const auto rests = expand_name(item.substr(close + 1), most);
  std::vector<std::string> numbers;
  if (!ranges || !rests) return std::nullopt;
  for (const std::string_view range : *ranges)
    if (!append_range(range, most, numbers)) return std::nullopt;
  if (numbers.size() * rests->size() > most)
    throw Error(ErrorKind::usage, "'" + printable(item) + "' names over " + counted(most, "node"));
  std::vector<std::string> names;
  for (const std::string& digits : numbers)
    for (const std::string& rest : *rests)
      names.push_back(std::string(item.substr(0, open)) + digits + rest);
  return names;
}

}  // namespace fastgpu
