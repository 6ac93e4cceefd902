// The fields of a document as people read them: units, money, times and commands in words.
#pragma once

#include <chrono>

#include "cli/ui/view.hpp"

namespace fastgpu::cli {

/// Returns the fields of one document for a description. A field's unit is in its name:
/// "max_life_seconds": 7200 becomes "max_life": "2h", "timeout_ms": 0 becomes "timeout": "none".
/// Money gets the currency of its object, times get their distance from `now`, the words of a
/// command become one line, texts that are JSON become their fields, schemas are left out.
Json readable(const Json& fields, std::chrono::system_clock::time_point now);

}  // namespace fastgpu::cli
