// JSON as it is written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fastgpu::cli {

/// Returns `value` as JSON, with `indent` blanks a level; -1 is one line. What would steer a
/// terminal is in it as \u escapes alone; bytes that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& value, int indent);

}  // namespace fastgpu::cli
