// One object in full, for people: its fields one a line, their contents indented below them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/ui/styled.hpp"

namespace fastgpu::cli {

/// Returns the fields of the object `fields`. A list has a line an item. A list of objects is a
/// table of their plain values, with a note on those that are left to -o yaml. Values that are
/// wider than the terminal are broken at blanks; elsewhere a field is one line.
Styled print_description(const nlohmann::ordered_json& fields, const Terminal& terminal);

}  // namespace fastgpu::cli
