#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr double kSecond = 1e3;
constexpr double kMinute = 6e4;
constexpr double kHour = 3.6e6;
constexpr double kDay = 8.64e7;
constexpr double kWeek = 7 * kDay;
constexpr std::array kDurations = {
    Unit{"ms", 1},        Unit{"millisecond", 1},   Unit{"milliseconds", 1},
    Unit{"s", kSecond},   Unit{"sec", kSecond},     Unit{"secs", kSecond},
    Unit{"m", kMinute},   Unit{"min", kMinute},     Unit{"mins", kMinute},
    Unit{"h", kHour},     Unit{"hr", kHour},        Unit{"hrs", kHour},
    Unit{"d", kDay},      Unit{"day", kDay},        Unit{"days", kDay},
    Unit{"w", kWeek},     Unit{"week", kWeek},      Unit{"weeks", kWeek},
    Unit{"hour", kHour},  Unit{"second", kSecond},  Unit{"minute", kMinute},
    Unit{"hours", kHour}, Unit{"seconds", kSecond}, Unit{"minutes", kMinute}};
constexpr std::array kSizes = {Unit{"", 1},         Unit{"b", 1},        Unit{"k", 1e3},
                               Unit{"kb", 1e3},     Unit{"m", 1e6},      Unit{"mb", 1e6},
                               Unit{"g", 1e9},      Unit{"gb", 1e9},     Unit{"t", 1e12},
                               Unit{"tb", 1e12},    Unit{"kib", 0x1p10}, Unit{"mib", 0x1p20},
                               Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}};
constexpr std::array kRates = {Unit{"bit", 1},    Unit{"kbit", 1e3}, Unit{"mbit", 1e6},
                               Unit{"gbit", 1e9}, Unit{"bps", 1},    Unit{"kbps", 1e3},
                               Unit{"mbps", 1e6}, Unit{"gbps", 1e9}};

constexpr double kHundredYears = 100 * 365.25 * kDay;  // In milliseconds.
constexpr double kLargestSize = 0x1p60;

[[noreturn]] void refuse(std::string_view what, std::string_view text, std::string_view examples) {
  throw Error(ErrorKind::usage, "'" + printable(text) + "' is not a " + std::string(what) +
                                    ": write it like " + std::string(examples));
}

/// Returns the factor of the unit `name`, in any case; NaN for an unknown unit.
double factor_of(std::string_view name, std::span<const Unit> units) {
  const std::string suffix = ascii_lower(name);
  for (const Unit& unit : units)
    if (unit.suffix == suffix) return unit.factor;
  return std::nan("");
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

/// Removes a decimal number and the blanks after it from `text` and returns it; NaN if `text` does
/// not begin with a number.
double take_number(std::string_view& text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number) || std::signbit(number)) return std::nan("");
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) skip_blanks(text);
  return number;
}

/// Removes the letters at the beginning of `text` and returns them.
std::string_view take_letters(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_ascii_letter);
  const std::string_view letters = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(letters.size());
  return letters;
}

/// Returns a number with a unit, multiplied by the unit's factor; NaN for an unknown unit.
double scaled(std::string_view text, std::span<const Unit> units) {
  const double number = take_number(text);
  return number * factor_of(text, units);
}

std::string print(const char* format, double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view text) {
  constexpr std::string_view kExamples = "250ms, 30s, 10m, 2h, 1h30m, 7d or 1w";
  if (text == "0") return std::chrono::milliseconds(0);
  if (text.empty() || text.ends_with(' ')) refuse("duration", text, kExamples);
  double total = 0;
  double before = std::numeric_limits<double>::infinity();
  for (std::string_view rest = text; !rest.empty();) {
    const double number = take_number(rest);
    const bool has_unit = !rest.empty();
    const std::string_view unit = take_letters(rest);
    if (!has_unit && number >= 0)
      throw Error(ErrorKind::usage, "'" + printable(text) + "' lacks its unit: write it like " +
                                        std::string(kExamples));
    const double factor = factor_of(unit, kDurations);
    const bool is_part = number >= 0 && factor < before;
    if (!is_part) refuse("duration", text, kExamples);
    total += number * factor;
    before = factor;
    skip_blanks(rest);
  }
  if (!(total <= kHundredYears))
    throw Error(ErrorKind::usage,
                "'" + printable(text) + "' is too long: a duration is at most 100 years");
  return std::chrono::milliseconds(std::llround(total));
}

Bytes parse_size(std::string_view text) {
  const double value = scaled(text, kSizes);
  if (!(value >= 0 && value <= kLargestSize)) refuse("size", text, "4096, 256MB or 2GiB");
  return {static_cast<std::uint64_t>(value)};
}

BitRate parse_bit_rate(std::string_view text) {
  const double value = scaled(text, kRates);
  if (!(value >= 1 && value <= 1e13)) refuse("link rate", text, "300mbit, 1gbit or 10gbit");
  return {static_cast<std::uint64_t>(value)};
}

std::string to_exact_string(std::chrono::milliseconds duration) {
  const std::int64_t count = duration.count();
  for (const Unit& unit :
       {Unit{"d", kDay}, Unit{"h", kHour}, Unit{"m", kMinute}, Unit{"s", kSecond}}) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (count % factor == 0) return std::to_string(count / factor) + std::string(unit.suffix);
  }
  return std::to_string(count) + "ms";
}

std::string to_string(std::chrono::milliseconds duration) {
  const auto in_two = [](long long first, char unit, long long rest, char rest_unit) {
    std::string text = std::to_string(first) + unit;
    if (rest == 0) return text;
    return text + (rest < 10 ? "0" : "") + std::to_string(rest) + rest_unit;
  };
  if (duration.count() == 0) return "0s";
  const double seconds = static_cast<double>(duration.count()) / 1e3;
  if (seconds < 1) return std::to_string(duration.count()) + "ms";
  if (seconds < 60) return print("%.3gs", seconds);
  const long long whole = std::llround(seconds);
  if (whole < 3600) return in_two(whole / 60, 'm', whole % 60, 's');
  if (whole < 48LL * 3600) return in_two(whole / 3600, 'h', whole / 60 % 60, 'm');
  return in_two(whole / 86400, 'd', whole / 3600 % 24, 'h');
}

std::string to_string(Bytes size) {
  const auto value = static_cast<double>(size.count);
  if (value < 1e3) return std::to_string(size.count) + " B";
  if (value < 1e6) return print("%.3g kB", value / 1e3);
  if (value < 1e9) return print("%.3g MB", value / 1e6);
  if (value < 1e12) return print("%.3g GB", value / 1e9);
  return print("%.3g TB", value / 1e12);
}

std::string to_string(BitRate rate) {
  const auto value = static_cast<double>(rate.bits_per_second);
  if (value < 1e3) return print("%.10gbit", value);
  if (value < 1e6) return print("%.10gkbit", value / 1e3);
  if (value < 1e9) return print("%.10gmbit", value / 1e6);
  return print("%.10ggbit", value / 1e9);
}

}  // namespace fastgpu
