#include "cli/ui/fold.hpp"

#include <algorithm>
#include <charconv>
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
  int suffix = -1;
};

Parts split(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && is_digit(name[at - 1]))
    --at;
  const std::string_view digits = name.substr(at);
  const bool leading_zero = digits.size() > 1 && digits.front() == '0';  // It would be lost.
  if (!is_number(digits) || leading_zero) return {name, -1};
  return {name.substr(0, at), number(digits)};
}

std::string ranges(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  std::string out;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1)
      ++last;
    out += (out.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (numbers[last] != numbers[i]) out += "-" + std::to_string(numbers[last]);
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

/// "0-3" or "7" appended to `prefix`; false where `range` is neither.
bool append_range(std::string_view prefix, std::string_view range, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  if (!is_number(first) || !is_number(last) || number(last) < number(first)) return false;
  if (static_cast<std::size_t>(number(last) - number(first)) >=
      kMostNames - std::min(out.size(), kMostNames))
    throw Error(ErrorKind::usage, "node set '" + printable(range) + "' names over 10,000 nodes");
  for (int i = number(first); i <= number(last); ++i)
    out.push_back(std::string(prefix) + std::to_string(i));
  return true;
}

}  // namespace

std::string fold_names(std::span<const std::string> names) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const std::string& name : names) {
    const Parts parts = split(name);
    const auto same = std::ranges::find_if(groups, [&](const auto& group) {
      return group.first == parts.prefix && group.second.empty() == (parts.suffix < 0);
    });
    const auto group =
        same != groups.end() ? same : groups.insert(groups.end(), {std::string(parts.prefix), {}});
    if (parts.suffix >= 0) group->second.push_back(parts.suffix);
  }
  std::string out;
  for (const auto& [prefix, numbers] : groups) {
    out += (out.empty() ? "" : ",") + prefix;
    if (numbers.empty()) continue;
    const std::string text = ranges(numbers);
    out += numbers.size() == 1 ? text : "[" + text + "]";
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
