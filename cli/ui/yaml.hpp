// JSON values written as YAML blocks.
#pragma once

#include <string>

#include "base/json.hpp"

namespace fastgpu::cli {

/// Returns `value` as a YAML document that every YAML reader reads back as the same value.
std::string to_yaml(const nlohmann::ordered_json& value);

}  // namespace fastgpu::cli
