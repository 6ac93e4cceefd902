// One thing in full, for people: its fields one a line, what they hold indented below them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/ui/styled.hpp"

namespace fastgpu::cli {

/// The fields of the object `fields`. A list has a line an item; a list of objects is a table of
/// what is plain in them, and says what it leaves to -o yaml. Values that are wider than the
/// terminal are broken at blanks; elsewhere a field is one line.
Styled print_description(const nlohmann::ordered_json& fields, const Terminal& terminal);

}  // namespace fastgpu::cli
