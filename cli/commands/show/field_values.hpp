// Values of fields and cells of several views.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/view.hpp"

namespace fastgpu::cli {

/// Returns a state in its color.
inline Cell state_cell(std::string_view word) {
  return {std::string(word), color_of(word)};
}

/// Returns null for an empty text.
inline Json word_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

/// Returns `text` as JSON if it is valid JSON, else as a string.
inline Json embedded(const std::string& text) {
  auto parsed = try_parse_json<Json>(text);
  return parsed.is_discarded() ? Json(text) : parsed;
}

}  // namespace fastgpu::cli
