#include "cloudsim/world/times.hpp"

#include <ctime>

#include "base/time_text.hpp"

namespace fastgpu::cloudsim {

std::string iso_time(Time time) {
  return utc_text(time, kIsoTime);
}

std::optional<Time> parse_time(const std::string& text, const char* format) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), format, &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::time_point_cast<Time::duration>(Clock::from_time_t(timegm(&parts)));
}

}  // namespace fastgpu::cloudsim
