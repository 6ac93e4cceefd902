// Lists of names on few columns, as Slurm and pdsh write them: "n[01-04,9].lab,login".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu {

/// Splits a list at the commas outside brackets. Absent where an item is empty or a bracket has no
/// partner.
std::optional<std::vector<std::string_view>> split_name_list(std::string_view text);

/// Writes the ranges of one item out, the leftmost varying slowest: "n[01-02]" is n01 and n02.
/// Zeros before a number are kept. Without brackets it is the item itself. Absent where brackets
/// hold anything but numbers and ranges that go up. Throws ErrorKind::usage for more than `most`
/// names.
std::optional<std::vector<std::string>> expand_name(std::string_view item, std::size_t most);

}  // namespace fastgpu
