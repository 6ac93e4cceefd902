// Times as the clouds write them, all in UTC.
#pragma once

#include <optional>
#include <string>

#include "cloudsim/world/cloud_model.hpp"

namespace fastgpu::cloudsim {

inline constexpr const char* kIsoTime = "%Y-%m-%dT%H:%M:%SZ";
inline constexpr const char* kCompactTime = "%Y%m%dT%H%M%SZ";

std::string iso_time(Time time);  ///< Returns "2026-11-21T22:00:00Z".

/// Returns the time that the whole text is, by a format of strptime(3); absent for other text.
std::optional<Time> parse_time(const std::string& text, const char* format = kIsoTime);

}  // namespace fastgpu::cloudsim
