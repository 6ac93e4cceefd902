// Times as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace fastgpu {

/// Returns `time` in UTC by a format of strftime(3), "2026-03-01T12:00:00Z" by default.
std::string utc_text(std::chrono::system_clock::time_point time,
                     const char* format = "%Y-%m-%dT%H:%M:%SZ");

/// Returns a time in nanoseconds since 1970 as "2026-03-01T12:00:00.123Z".
std::string utc_text_ms(std::int64_t nanoseconds);

}  // namespace fastgpu
