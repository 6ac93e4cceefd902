// The words of a command line, classified as flags with their values and as positional words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

struct Token {
  enum class Kind : std::uint8_t { word, flag, unknown_flag };

  Kind kind = Kind::word;
  std::size_t at = 0;  ///< The index of the word in which it begins.
  std::string text{};  ///< The word, or the flag as it was written, without its value.
  const Argument* argument = nullptr;  ///< The argument of a known flag, else null.
  std::optional<std::string> value{};  ///< The text after "=" or the letter, or the next word.
  std::string next{};  ///< The known flag that is at the place of the missing value.
};

/// Classifies `words` by the flags in `arguments`. The value of a flag is the text after "=", even
/// if it is empty, else the rest of a word of letters ("-ojson"), else the next word unless that is
/// a known flag. Bare flags may share a word ("-qy"). Understands common spellings of other
/// programs ("--json"). If the command takes no program, "--" ends the flags. If it takes one, the
/// caller has removed "--" and the words after it.
std::vector<Token> tokens_of(std::span<const std::string> words, const Arguments& arguments);
std::vector<Token> tokens_of(std::span<const std::string>,
                             Arguments&&) = delete;  // Deleted: tokens refer to the arguments.

}  // namespace fastgpu::cli
