#include "http/backoff.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "base/numbers.hpp"

namespace fastgpu::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

constexpr milliseconds kDay{24 * 60 * 60 * 1000};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// Returns the number in `text`; absent unless it consists of digits only.
std::optional<int> number(std::string_view text) noexcept {
  return text.starts_with('-') ? std::nullopt : to_number<int>(text);
}

milliseconds random_wait(const Backoff& backoff, int retry, double random) noexcept {
  const double base = static_cast<double>(backoff.base.count());
  const double longest =
      std::min(std::ldexp(base, retry - 1), static_cast<double>(backoff.cap.count()));
  return milliseconds(static_cast<milliseconds::rep>(longest * random));
}

bool is_all_digits(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<milliseconds> next_wait(const Backoff& backoff, const Tried& tried,
                                      double random) noexcept {
  if (tried.attempts >= backoff.attempts) return std::nullopt;
  const milliseconds wait = std::max(random_wait(backoff, tried.attempts, random),
                                     tried.retry_after.value_or(milliseconds(0)));
  if (tried.elapsed + wait >= backoff.deadline) return std::nullopt;
  return wait;
}

std::optional<milliseconds> parse_retry_after(std::string_view value,
                                              system_clock::time_point now) noexcept {
  if (is_all_digits(value)) {
    const std::optional<int> seconds = number(value);  // Absent for a number that is too large.
    return seconds ? std::min<milliseconds>(std::chrono::seconds(*seconds), kDay) : kDay;
  }
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return std::clamp(std::chrono::ceil<milliseconds>(*date - now), milliseconds(0), kDay);
}

std::optional<system_clock::time_point> parse_http_date(std::string_view text) noexcept {
  constexpr std::string_view kShape = "www, dd mmm yyyy hh:mm:ss GMT";
  if (text.size() != kShape.size() || !text.ends_with(" GMT") || text[3] != ',') return {};
  const auto month = std::ranges::find(kMonths, text.substr(8, 3));
  const auto day = number(text.substr(5, 2));
  const auto year = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second) return {};
  if (*day < 1 || *day > 31 || *year < 1970 || *year > 2200 || *hour > 23 || *minute > 59 ||
      *second > 60)
    return {};
  std::tm parts{};
  parts.tm_mday = *day;
  parts.tm_mon = static_cast<int>(month - kMonths.begin());
  parts.tm_year = *year - 1900;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  return system_clock::from_time_t(timegm(&parts));
}

std::optional<std::chrono::seconds> clock_offset(std::optional<std::string_view> date,
                                                 system_clock::time_point now) noexcept {
  const auto theirs = date ? parse_http_date(*date) : std::nullopt;
  if (!theirs) return std::nullopt;
  return std::chrono::round<std::chrono::seconds>(*theirs - now);
}

}  // namespace fastgpu::http
