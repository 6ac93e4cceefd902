#include "base/login_shell.hpp"

#include <algorithm>

namespace fastgpu {
namespace {

/// Returns true for a byte that no login shell changes between single quotes. False for the quote
/// itself, fish's backslash, csh's '!' and newline, and bytes that a locale may not know.
bool is_same_in_quotes(char c) {
  return c >= ' ' && c <= '~' && c != '\'' && c != '!' && c != '\\';
}

/// Returns true for a byte that /bin/sh does not change between double quotes either.
bool is_same_in_both_quotes(char c) {
  return is_same_in_quotes(c) && c != '"' && c != '$' && c != '`';
}

/// Returns the byte in the form of printf %b.
std::string as_octal(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const auto digit = [byte](int shift) { return static_cast<char>('0' + ((byte >> shift) & 7)); };
  return {'\\', '0', digit(6), digit(3), digit(0)};
}

}  // namespace

std::string login_shell_command(std::string_view script) {
  std::string text(script);
  if (!std::ranges::all_of(script, is_same_in_quotes)) {
    text = "eval \"$(printf %b \"";
    for (const char c : script)
      text += is_same_in_both_quotes(c) ? std::string(1, c) : as_octal(c);
    text += "\")\"";
  }
  // A word with quotes in it is not an alias, and every shell reads it as exec. A word that is
  // quoted as a whole, or from its first letter on, is a program's name to tcsh.
  return "ex''ec /bin/sh -c '" + text + "'";
}

}  // namespace fastgpu
