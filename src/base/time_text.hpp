// Times as text.
#pragma once

#include <chrono>
#include <string>

namespace fastgpu {

/// Returns `time` in UTC by a format of strftime(3), "2026-03-01T12:00:00Z" by default.
std::string utc_text(std::chrono::system_clock::time_point time,
                     const char* format = "%Y-%m-%dT%H:%M:%SZ");

}  // namespace fastgpu
