#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

constexpr std::array kDurations = {Unit{"", 1e3},    Unit{"ms", 1},    Unit{"s", 1e3},
                                   Unit{"m", 6e4},   Unit{"min", 6e4}, Unit{"h", 3.6e6},
                                   Unit{"d", 8.64e7}};
constexpr std::array kSizes = {Unit{"", 1},         Unit{"b", 1},        Unit{"k", 1e3},
                               Unit{"kb", 1e3},     Unit{"m", 1e6},      Unit{"mb", 1e6},
                               Unit{"g", 1e9},      Unit{"gb", 1e9},     Unit{"t", 1e12},
                               Unit{"tb", 1e12},    Unit{"kib", 0x1p10}, Unit{"mib", 0x1p20},
                               Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}};
constexpr std::array kRates = {Unit{"bit", 1},    Unit{"kbit", 1e3}, Unit{"mbit", 1e6},
                               Unit{"gbit", 1e9}, Unit{"bps", 1},    Unit{"kbps", 1e3},
                               Unit{"mbps", 1e6}, Unit{"gbps", 1e9}};

constexpr double kHundredYears = 100 * 365.25 * 8.64e7;  // In milliseconds.
constexpr double kLargestSize = 0x1p60;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

[[noreturn]] void refuse(std::string_view what, std::string_view text, std::string_view examples) {
  throw Error(ErrorKind::usage, "'" + printable(text) + "' is not a " + std::string(what) +
                                    ": write it like " + std::string(examples));
}

/// number x factor of its suffix; NaN where the text is none of the units.
double scaled(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nan("");
  const std::string suffix =
      lower({end, static_cast<std::size_t>(text.data() + text.size() - end)});
  for (const Unit& unit : units)
    if (unit.suffix == suffix) return number * unit.factor;
  return std::nan("");
}

std::string print(const char* format, double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view text) {
  const double value = scaled(text, kDurations);
  if (!(value >= 0 && value <= kHundredYears))
    refuse("duration", text, "250ms, 30s, 10m, 2h or 7d");
  return std::chrono::milliseconds(std::llround(value));
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

std::string to_string(std::chrono::milliseconds duration) {
  const double seconds = static_cast<double>(duration.count()) / 1e3;
  if (seconds < 1) return std::to_string(duration.count()) + "ms";
  if (seconds < 60) return print("%.3gs", seconds);
  const long long whole = std::llround(seconds);
  std::array<char, 48> buffer{};
  if (whole < 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%lldm%02llds", whole / 60, whole % 60);
  } else if (whole < 48LL * 3600) {
    std::snprintf(buffer.data(), buffer.size(), "%lldh%02lldm", whole / 3600, whole / 60 % 60);
  } else {
    std::snprintf(buffer.data(), buffer.size(), "%lldd%02lldh", whole / 86400, whole / 3600 % 24);
  }
  return buffer.data();
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
