// The lines and sections of a description, for all kinds of things that are described.
#pragma once

#include <string>
#include <utility>

#include "base/time_text.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {

/// Adds a line unless `text` is empty.
inline void put_line(Json& section, const std::string& label, const std::string& text) {
  if (!text.empty()) section[label] = text;
}

/// Adds a section or a table unless it is empty.
inline void put_part(Json& description, const std::string& label, Json part) {
  if (!part.empty()) description[label] = std::move(part);
}

/// Returns the time, and how long ago it was or in how long it is.
inline std::string time_text(state::TimePoint when, state::TimePoint now) {
  return utc_text(when) +
         (when <= now ? " (" + age(when, now) + " ago)" : " (in " + age(now, when) + ")");
}

}  // namespace fastgpu::cli
