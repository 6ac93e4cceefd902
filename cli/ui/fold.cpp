#include "cli/ui/fold.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostNames = 10'000;
constexpr std::size_t kMostDigits = 9;  // Fits an int.

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_digit);
}

int number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// A name's part before its last number, and that number; without one, the whole name.
struct Parts {
  std::string_view prefix;
  std::string_view digits{};
};

Parts split(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1]))
    --at;
  if (!is_number(name.substr(at))) return {name};
  return {name.substr(0, at), name.substr(at)};
}

bool is_padded(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

/// With zeros before it up to that width.
std::string padded(int value, std::size_t width) {
  std::string text = std::to_string(value);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

std::string ranges(std::vector<int> numbers, std::size_t width) {
  std::ranges::sort(numbers);
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1)
      ++last;
    out += (out.empty() ? "" : ",") + padded(numbers[i], width);
    if (numbers[last] != numbers[i]) out += "-" + padded(numbers[last], width);
    i = last + 1;
  }
  return out;
}

/// The items of a list, split at the commas that stand outside brackets.
std::vector<std::string_view> items(std::string_view text, std::string_view whole) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const bool ends = c == ',' && (depth == 0 || i == text.size());
    if (!ends) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
    if (out.back().empty() || depth != 0)
      throw Error(ErrorKind::usage,
                  "node set '" + printable(whole) +
                      "' is not readable: write it like 0,2 or 0-3 or demo-[0-3]");
  }
  return out;
}

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::usage, "node set '" + printable(text) +
                                    "' is not readable: write it like 0,2 or 0-3 or demo-[0-3]");
}

/// "0-3", "01-16" or "7" appended to `prefix`; false where `range` is none of them.
bool append_range(std::string_view prefix, std::string_view range, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  if (!is_number(first) || !is_number(last) || number(last) < number(first)) return false;
  if (static_cast<std::size_t>(number(last) - number(first)) >=
      kMostNames - std::min(out.size(), kMostNames))
    throw Error(ErrorKind::usage, "node set '" + printable(range) + "' names over 10,000 nodes");
  for (int i = number(first); i <= number(last); ++i)
    out.push_back(std::string(prefix) + padded(i, is_padded(first) ? first.size() : 0));
  return true;
}

/// Names that differ in their number alone.
struct Group {
  std::string_view prefix;
  std::size_t width;  ///< Of numbers with zeros before them; else 0.
  bool is_word;       ///< Without a number.
  std::vector<int> numbers;

  bool is_like(const Group& other) const {
    return prefix == other.prefix && width == other.width && is_word == other.is_word;
  }
};

}  // namespace

std::string fold_names(std::span<const std::string> names) {
  // Numbers of the width of one with zeros before it go with that one: n08, n09, n10.
  std::set<std::pair<std::string_view, std::size_t>> widths;
  for (const std::string& name : names)
    if (const Parts parts = split(name); is_padded(parts.digits))
      widths.emplace(parts.prefix, parts.digits.size());
  std::vector<Group> groups;
  for (const std::string& name : names) {
    const Parts parts = split(name);
    const bool has_width = widths.contains({parts.prefix, parts.digits.size()});
    const Group fresh{parts.prefix, has_width ? parts.digits.size() : 0, parts.digits.empty(), {}};
    auto group = std::ranges::find_if(groups, [&](const Group& g) { return g.is_like(fresh); });
    if (group == groups.end()) group = groups.insert(group, fresh);
    if (!parts.digits.empty()) group->numbers.push_back(number(parts.digits));
  }
  std::string out;
  for (const Group& group : groups) {
    out += (out.empty() ? "" : ",") + std::string(group.prefix);
    if (group.is_word) continue;
    const std::string text = ranges(group.numbers, group.width);
    out += group.numbers.size() == 1 ? text : "[" + text + "]";
  }
  return out;
}

std::vector<std::string> unfold_names(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view item : items(text, text)) {
    const std::size_t open = item.find('[');
    if (open == std::string_view::npos) {
      if (!append_range("", item, out)) out.emplace_back(item);
      continue;
    }
    if (item.back() != ']') refuse(text);
    const std::string_view inside = item.substr(open + 1, item.size() - open - 2);
    for (const std::string_view range : items(inside, text))
      if (!append_range(item.substr(0, open), range, out)) refuse(text);
  }
  return out;
}

}  // namespace fastgpu::cli
