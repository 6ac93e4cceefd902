#include "base/time_text.hpp"

#include <array>
#include <ctime>

namespace fastgpu {

std::string utc_text(std::chrono::system_clock::time_point time, const char* format) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "?";  // A year beyond an int.
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

std::string utc_text_ms(std::int64_t nanoseconds) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(nanoseconds)};
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time - second).count();
  const std::string digits = std::to_string(1'000 + ms).substr(1);
  return utc_text(std::chrono::time_point_cast<std::chrono::system_clock::duration>(second),
                  "%Y-%m-%dT%H:%M:%S") +
         "." + digits + "Z";
}

}  // namespace fastgpu
