// Parsers for booleans, whole numbers, disk sizes and choices as users write them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu {

// Flags, variables and files are all read by these parsers, so that a word has the same meaning
// everywhere. All of them throw ErrorKind::usage with the value met and the allowed ones.

/// Parses a boolean in any case: true, yes, on, 1, false, no, off, 0.
bool parse_boolean(std::string_view text);

/// Parses a whole number between `least` and `most`.
int parse_integer(std::string_view text, int least, int most);

/// Parses the size of a disk: a number of GiB, or a size with its unit ("500GB", "10TB"), which is
/// rounded up to GiB. It must be between `least` and `most` GiB.
int parse_gib(std::string_view text, int least, int most);

/// Returns `text` if it is one of `choices`.
std::string parse_choice(std::string_view text, std::span<const std::string> choices);

/// Returns true if `text` is a valid name of an environment variable.
bool is_variable_name(std::string_view text);

}  // namespace fastgpu
