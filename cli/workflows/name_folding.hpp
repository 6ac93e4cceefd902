// Many names in little space: "demo-[0-3,7]", and back.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Folds names that differ only in their last number. Groups keep the order of their first names.
std::string fold_names(std::span<const std::string> names);

/// Returns "demo-[0-1],x" as "demo-0", "demo-1", "x". Throws ErrorKind::usage for a broken range
/// and for more than 10,000 names.
std::vector<std::string> unfold_names(std::string_view text);

}  // namespace fastgpu::cli
