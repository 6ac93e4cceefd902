// Values other than quantities, in the users' form: booleans, whole numbers, choices.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

// The only readers of flags, variables and files, so that a word means the same in each. All throw
// ErrorKind::usage with the value met and usable ones.

/// Reads true, yes, on and 1, false, no, off and 0, in any case of their letters.
bool parse_boolean(std::string_view text);

/// Reads a whole number of `least` to `most`.
int parse_integer(std::string_view text, int least, int most);

/// Reads the size of a disk: a number of GiB, or a size with its unit ("500GB", "10TB"), which is
/// rounded up to GiB. It must be from `least` to `most` GiB.
int parse_gib(std::string_view text, int least, int most);

/// Returns `text` if it is one of `choices`.
std::string parse_choice(std::string_view text, std::span<const std::string> choices);

/// Returns whether `text` can be the name of an environment variable.
bool is_variable_name(std::string_view text);

}  // namespace fastgpu
