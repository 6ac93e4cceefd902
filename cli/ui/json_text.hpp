// JSON values as text.
#pragma once

#include <string>

#include "base/json.hpp"

namespace fastgpu::cli {

/// Returns `value` as JSON, with `indent` blanks per level; -1 puts everything on one line.
/// Characters that control a terminal become \u escapes. Invalid UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& value, int indent);

}  // namespace fastgpu::cli
