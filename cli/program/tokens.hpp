// The words of a command line, classified: flags with their values, and words alone.
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
  std::size_t at = 0;  ///< The number of the word in which it begins.
  std::string text{};  ///< The word, or the flag as it was written, without its value.
  const Argument* argument = nullptr;  ///< Set for a known flag.
  std::optional<std::string> value{};  ///< The text after "=" or the letter, or the next word.
  std::string next{};                  ///< The known flag that is at the place of the value.
};

/// Splits `words` by the flags that `arguments` has. A value is the text after "=", perhaps empty,
/// else the rest of a word of letters ("-ojson"). Else it is the next word of any form, unless that
/// is one of the flags. Letters of bare flags may share a word ("-qy"). Words that people know from
/// elsewhere are understood ("--json"). Without a program "--" ends the flags; a program with its
/// "--" is not looked for here.
std::vector<Token> tokens_of(std::span<const std::string> words, const Arguments& arguments);
std::vector<Token> tokens_of(std::span<const std::string>,
                             Arguments&&) = delete;  // Tokens refer to them.

}  // namespace fastgpu::cli
