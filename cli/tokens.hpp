// The words of a command line, told apart: flags with their values, and words that stand alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"

namespace fastgpu::cli {

struct Token {
  enum class Kind : std::uint8_t { word, flag, unknown_flag };

  Kind kind = Kind::word;
  std::size_t at = 0;  ///< The number of the word in which it begins.
  std::string text{};  ///< The word, or the flag as it was written, without its value.
  const Argument* argument = nullptr;  ///< Of a flag that is known.
  std::optional<std::string> value{};  ///< What follows "=" or the letter, or is the next word.
  std::string next{};                  ///< The known flag that stands where the value was expected.
};

/// Splits `words` by the flags that `arguments` has. A value is what follows "=", perhaps nothing;
/// else the rest of a word of letters ("-ojson"); else the next word, whatever it looks like,
/// unless it is one of the flags. Letters of bare flags may share a word ("-qy"). Words that people
/// know from elsewhere are understood ("--json"). Without a program "--" ends the flags; a program
/// with its "--" is not looked for here.
std::vector<Token> tokens_of(std::span<const std::string> words, const Arguments& arguments);
std::vector<Token> tokens_of(std::span<const std::string>,
                             Arguments&&) = delete;  // Tokens refer to them.

}  // namespace fastgpu::cli
