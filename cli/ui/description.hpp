// One object in full, for people: one line per field, with nested objects indented.
#pragma once

#include <string>

#include "base/json.hpp"
#include "cli/ui/styled.hpp"

namespace fastgpu::cli {

/// Returns the fields of an object as text. A list has one line per item. A list of objects is a
/// table of their simple values, with a note on the fields that only -o yaml shows. On a terminal,
/// values that are too wide are broken at blanks; elsewhere each field is one line.
Styled print_description(const nlohmann::ordered_json& fields, const Terminal& terminal);

}  // namespace fastgpu::cli
