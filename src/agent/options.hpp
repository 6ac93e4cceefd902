// Parses the words of a subcommand: flags with and without values, then the rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/subcommands.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {

/// Takes words from the front. Throws ErrorKind::usage for an unexpected word.
class OptionReader {
 public:
  explicit OptionReader(Arguments words) : words_(words) {}

  bool done() const noexcept { return words_.empty(); }

  bool take_flag(std::string_view name) {
    if (done() || words_.front() != name) return false;
    words_ = words_.subspan(1);
    return true;
  }

  /// Returns the word after `name` if `name` is the next word.
  std::optional<std::string> take_value(std::string_view name) {
    if (!take_flag(name)) return std::nullopt;
    return take_word(name);
  }

  std::string take_word(std::string_view what) {
    if (done()) throw Error(ErrorKind::usage, std::string(what) + " is missing");
    const std::string word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }

  std::vector<std::string> take_rest() {
    std::vector<std::string> rest(words_.begin(), words_.end());
    words_ = {};
    return rest;
  }

  void expect_end() const {
    if (!done())
      throw Error(ErrorKind::usage, "'" + printable(words_.front()) + "' is not expected here");
  }

 private:
  Arguments words_;
};

template <class T>
T parse_number(std::string_view text, std::string_view what) {
  if (const auto value = to_number<T>(text)) return *value;
  throw Error(ErrorKind::usage,
              std::string(what) + " '" + printable(text) + "' is not a number in range");
}

}  // namespace fastgpu::agent
