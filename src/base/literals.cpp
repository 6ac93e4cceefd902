#include "base/literals.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/units.hpp"

namespace fastgpu {
namespace {

constexpr std::array<std::string_view, 4> kTrue = {"true", "yes", "on", "1"};
constexpr std::array<std::string_view, 4> kFalse = {"false", "no", "off", "0"};

}  // namespace

bool parse_boolean(std::string_view text) {
  const std::string word = ascii_lower(text);
  if (contains(kTrue, word)) return true;
  if (contains(kFalse, word)) return false;
  throw Error(ErrorKind::usage, "'" + printable(text) + "' is not usable: give true or false");
}

int parse_integer(std::string_view text, int least, int most) {
  const auto number = to_number<long long>(text);
  if (number && *number >= least && *number <= most) return static_cast<int>(*number);
  throw Error(ErrorKind::usage, "'" + printable(text) +
                                    "' is not usable: give a whole number from " +
                                    std::to_string(least) + " to " + std::to_string(most));
}

std::string parse_choice(std::string_view text, std::span<const std::string> choices) {
  if (contains(choices, text)) return std::string(text);
  const std::string near = nearest_name(text, choices);
  throw Error(ErrorKind::usage, "'" + printable(text) + "' is not one of " + joined(choices) +
                                    (near.empty() ? "" : "; did you mean " + near + "?"));
}

bool is_variable_name(std::string_view text) {
  const auto is_usable = [](char c) { return is_ascii_letter_or_digit(c) || c == '_'; };
  return !text.empty() && !is_ascii_digit(text.front()) && std::ranges::all_of(text, is_usable);
}

int parse_gib(std::string_view text, int least, int most) {
  const std::string usable = "a size from " + std::to_string(least) + " to " +
                             std::to_string(most) + " GiB, like 500, 500GB or 10TB";
  try {
    if (std::ranges::all_of(text, is_ascii_digit)) return parse_integer(text, least, most);
    const bool has_unit = !text.empty() && !is_ascii_digit(text.back()) && text.back() != ' ';
    const double gib = std::ceil(static_cast<double>(parse_size(text).count) / 0x1p30);
    if (has_unit && gib >= least && gib <= most) return static_cast<int>(gib);
  } catch (const Error&) {  // The message below covers this, too.
  }
  throw Error(ErrorKind::usage, "'" + printable(text) + "' is not usable: give " + usable);
}

}  // namespace fastgpu
