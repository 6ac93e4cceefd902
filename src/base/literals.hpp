// Values that are no quantities, as users write them: booleans, whole numbers, choices.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

// Flags, variables and files are read by these alone, so that a word means the same in each. All
// throw ErrorKind::usage with the value met and what would be usable.

/// Reads true, yes, on and 1, false, no, off and 0, in any case of their letters.
bool parse_boolean(std::string_view text);

/// Reads a whole number of `least` to `most`.
int parse_integer(std::string_view text, int least, int most);

/// Reads the size of a disk: a number of GiB, or a size with its unit ("500GB", "10TB"), which is
/// rounded up to GiB. It has to be from `least` to `most` GiB.
int parse_gib(std::string_view text, int least, int most);

/// Returns `text` where it is one of `choices`.
std::string parse_choice(std::string_view text, std::span<const std::string> choices);

/// Returns whether `text` can be the name of an environment variable.
bool is_variable_name(std::string_view text);

}  // namespace fastgpu
