// The text of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fastgpu::cli {

/// Returns `value` as JSON, with `indent` blanks a level; -1 is one line. Characters that would
/// steer a terminal are in it only as \u escapes; bytes that are not UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& value, int indent);

}  // namespace fastgpu::cli
