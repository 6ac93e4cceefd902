#include "base/login_shell.hpp"

#include <algorithm>

namespace fastgpu {
namespace {

constexpr std::string_view kEnsureHome =
    "case $HOME in /*) ;; *) eval HOME=~$(id -un); export HOME ;; esac; ";

/// Returns true for a byte that every login shell leaves unchanged between single quotes. This
/// excludes the quote itself, fish's backslash, csh's '!' and newline, and bytes that a locale may
/// not know.
bool is_same_in_quotes(char c) {
  return c >= ' ' && c <= '~' && c != '\'' && c != '!' && c != '\\';
}

/// Returns true for a byte that /bin/sh leaves unchanged between double quotes, too.
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
  std::string text(kEnsureHome);
  text += script;
  if (!std::ranges::all_of(script, is_same_in_quotes)) {
    text = std::string(kEnsureHome) + "eval \"$(printf %b \"";
    for (const char c : script)
      text += is_same_in_both_quotes(c) ? std::string(1, c) : as_octal(c);
    text += "\")\"";
  }
  // The quotes inside of "exec" keep shells from expanding it as an alias. tcsh would take a word
  // that is quoted as a whole, or from its first letter on, for the name of a program.
  return "ex''ec /bin/sh -c '" + text + "'";
}

}  // namespace fastgpu
