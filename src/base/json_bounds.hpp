// The limits of a JSON text from outside, checked before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

/// Returns in which way a JSON text is beyond every document that is expected: "brackets more than
/// 64 deep", or more than 500,000 values, or 256 MiB; empty if it is within the limits. Parsing it
/// then takes memory and stack in proportion to its length. Text other than JSON is within them.
std::string json_excess(std::string_view text);

}  // namespace fastgpu
