#include "transfer/node_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::transfer {
namespace {

/// Returns true for "$HOME", "${HOME}" and "$HOME-2".
bool begins_with_variable(std::string_view name) {
  if (name.size() < 2 || name[0] != '$') return false;
  return name[1] == '{' || name[1] == '_' || is_ascii_letter(name[1]);
}

/// Returns true for "$HOME" and "${HOME}", and false for the name "$HOME;" of a file.
bool is_variable(std::string_view name) {
  if (!begins_with_variable(name)) return false;
  const bool has_braces = name[1] == '{';
  if (has_braces) return name.ends_with('}');
  return std::ranges::all_of(
      name.substr(1), [](char c) { return c == '_' || is_ascii_letter(c) || is_ascii_digit(c); });
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage, "'" + printable(path) + "': " + why);
}

}  // namespace

NodePath parse_node_path(const std::string& text) {
  if (text.empty()) throw Error(ErrorKind::usage, "the path is empty");
  if (text.find('\0') != text.npos) refuse(text, "the path has a NUL byte");
  if (text.starts_with('~') && !is_below_home({text}))
    refuse(text,
           "of ~ only the home directory of the login is known on the nodes, ~/: write the full "
           "path, or ./ before a name that begins with ~");
  const std::filesystem::path path(text);
  for (auto name = path.begin(); name != path.end(); ++name)
    if (name == path.begin() ? begins_with_variable(name->string()) : is_variable(name->string()))
      refuse(text,
             "variables are not expanded on the nodes: write the full path, or ~/ for the home "
             "directory there");
  return {text};
}

bool is_below_home(const NodePath& path) {
  return path.value == "~" || path.value.starts_with("~/");
}

NodePath node_path_in(const NodePath& base, const NodePath& path) {
  if (is_below_home(path)) return path;
  return {(std::filesystem::path(base.value) / path.value).string()};
}

std::filesystem::path below_home(const std::string& path) {
  const char* variable = std::getenv("HOME");
  const std::filesystem::path home = variable == nullptr ? "." : variable;
  if (path == "~" || path.empty()) return home;
  if (!path.starts_with("~/")) return home / path;
  const auto begin = path.find_first_not_of('/', 1);
  return begin == path.npos ? home : home / path.substr(begin);
}

}  // namespace fastgpu::transfer
