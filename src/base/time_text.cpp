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

}  // namespace fastgpu
