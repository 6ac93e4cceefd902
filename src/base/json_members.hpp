// Reads some members of a JSON object without making a value of all of it: a list of thousands of
// records shows a few members of each.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace fastgpu {

/// A position in JSON. Strings are skipped, and brackets are counted: parts of an invalid text may
/// be read as if it were valid.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : rest_(text) {}

  /// Takes `mark` and the blanks around it. Returns false if something else comes next.
  bool take(char mark) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != mark) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }

  /// Returns the text of the value that comes next; empty if none does, or its end is missing.
  std::string_view take_value() {
    skip_blanks();
    const std::size_t size = size_of_value();
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front()))
      rest_.remove_prefix(1);
  }

  /// Returns the position after the string that begins at `at`; 0 if its end is missing.
  std::size_t end_of_string(std::size_t at) const {
    for (std::size_t i = at + 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') return i + 1;
      if (rest_[i] == '\\') ++i;
    }
    return 0;
  }

  std::size_t size_of_word() const {
    const auto end = std::ranges::find_if(
        rest_, [](char c) { return c == ',' || c == ']' || c == '}' || is_blank(c); });
    return static_cast<std::size_t>(end - rest_.begin());
  }

  std::size_t size_of_value() const {
    if (rest_.empty()) return 0;
    if (rest_.front() == '"') return end_of_string(0);
    if (rest_.front() != '{' && rest_.front() != '[') return size_of_word();
    std::size_t depth = 0;
    for (std::size_t at = 0; at < rest_.size();) {
      const char c = rest_[at];
      at = c == '"' ? end_of_string(at) : at + 1;
      if (at == 0) return 0;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return 0;
  }

  std::string_view rest_;
};

/// Calls `take` with the name and the text of each member of an object. A name with an escape comes
/// as it is written. Returns false for a text that is not a whole object.
template <class Take>
bool for_each_json_member(std::string_view text, Take take) {
  JsonCursor cursor(text);
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  do {
    const std::string_view name = cursor.take_value();
    if (name.size() < 2 || name.front() != '"' || !cursor.take(':')) return false;
    const std::string_view value = cursor.take_value();
    if (value.empty()) return false;
    take(name.substr(1, name.size() - 2), value);
  } while (cursor.take(','));
  return cursor.take('}');
}

/// Calls `take` with the text of each item of an array. Returns false for a text that is not a
/// whole array.
template <class Take>
bool for_each_json_item(std::string_view text, Take take) {
  JsonCursor cursor(text);
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return true;
  do {
    const std::string_view value = cursor.take_value();
    if (value.empty()) return false;
    take(value);
  } while (cursor.take(','));
  return cursor.take(']');
}

/// Returns the string that the text of a value means; absent for another kind of value.
inline std::optional<std::string> json_string(std::string_view value) {
  if (value.size() < 2 || value.front() != '"') return std::nullopt;
  if (value.find('\\') == value.npos) return std::string(value.substr(1, value.size() - 2));
  const auto parsed = try_parse_json(value);
  if (!parsed.is_string()) return std::nullopt;
  return parsed.template get<std::string>();
}

}  // namespace fastgpu
