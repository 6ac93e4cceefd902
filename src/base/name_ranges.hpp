// Lists of names in short form, as in Slurm and pdsh: "n[01-04,9].lab,login".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu {

/// Splits a list at the commas outside brackets. Absent if an item is empty or a bracket has no
/// partner.
std::optional<std::vector<std::string_view>> split_name_list(std::string_view text);

/// Expands the ranges of one item; the rightmost one varies fastest: "n[01-02]" is n01 and n02.
/// Keeps leading zeros. An item without brackets is returned as it is. Absent if brackets contain
/// anything but numbers and ascending ranges. Throws ErrorKind::usage for more than `most` names.
std::optional<std::vector<std::string>> expand_name(std::string_view item, std::size_t most);

}  // namespace fastgpu
