#include "cli/workflows/name_folding.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/name_ranges.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostNames = 10'000;
constexpr std::size_t kMostDigits = 9;  // Fits an int.

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kMostDigits && std::ranges::all_of(text, is_ascii_digit);
}

int number(std::string_view text) {
  return to_number<int>(text).value_or(0);
}

/// A name, split before its last number. Without a number, `prefix` is the whole name.
struct Parts {
  std::string_view prefix;
  std::string_view digits{};
};

Parts split(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && is_ascii_digit(name[at - 1]))
    --at;
  if (!is_number(name.substr(at))) return {name};
  return {name.substr(0, at), name.substr(at)};
}

bool is_padded(std::string_view digits) {
  return digits.size() > 1 && digits.front() == '0';
}

/// Returns `value` with zeros before it, up to `width` digits.
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
    append_item(out, padded(numbers[i], width), ",");
    if (numbers[last] != numbers[i]) out += "-" + padded(numbers[last], width);
    i = last + 1;
  }
  return out;
}

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::usage, "node set '" + printable(text) +
                                    "' is not valid: write it like 0,2 or 0-3 or demo-[0-3]");
}

/// Names that differ only in their numbers.
struct Group {
  std::string_view prefix;
  std::size_t width;  ///< The width of the numbers if they have leading zeros, else 0.
  bool is_word;       ///< True for a name without a number.
  std::vector<int> numbers;

  bool is_like(const Group& other) const {
    return prefix == other.prefix && width == other.width && is_word == other.is_word;
  }
};

}  // namespace

std::string fold_names(std::span<const std::string> names) {
  // A number as wide as one with leading zeros belongs to the same group: n08, n09, n10.
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
    append_item(out, group.prefix, ",");
    if (group.is_word) continue;
    const std::string text = ranges(group.numbers, group.width);
    out += group.numbers.size() == 1 ? text : "[" + text + "]";
  }
  return out;
}

std::vector<std::string> unfold_names(std::string_view text) {
  const auto items = split_name_list(text);
  if (!items) refuse(text);
  std::vector<std::string> out;
  for (const std::string_view item : *items) {
    const bool is_bare_range = item.find_first_not_of("0123456789-") == item.npos;
    auto names =
        expand_name(is_bare_range ? "[" + std::string(item) + "]" : std::string(item), kMostNames);
    if (!names && !is_bare_range) refuse(text);
    if (!names) names.emplace({std::string(item)});
    if (names->size() > kMostNames - out.size())
      throw Error(ErrorKind::usage, "node set '" + printable(text) + "' names over 10,000 nodes");
    std::ranges::move(*names, std::back_inserter(out));
  }
  return out;
}

}  // namespace fastgpu::cli
