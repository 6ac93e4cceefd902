// One value of a configuration document, and its conversion to the expected type.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "config/tree.hpp"

namespace fastgpu::config {

/// A value. Every conversion throws ErrorKind::usage with the place, the field and the value met:
/// "cluster.yaml:7:3: 'nodes' must be a whole number from 1 to 10000, not 'many'".
class Value {
 public:
  Value(TreePtr tree, std::string name) : tree_(std::move(tree)), name_(std::move(name)) {}

  const std::string& name() const noexcept { return name_; }  ///< "hosts[1].port"; "" for the root.
  std::string where() const { return tree_->place.text(); }

  bool is_null() const noexcept { return tree_->kind == Tree::Kind::null; }
  bool is_list() const noexcept { return tree_->kind == Tree::Kind::list; }
  bool is_map() const noexcept { return tree_->kind == Tree::Kind::map; }

  std::string text() const;         ///< Any scalar in its written form, without its quotes.
  std::string filled_text() const;  ///< Returns text(), and throws if it is empty.
  int integer(int least, int most) const;
  bool boolean() const;
  std::string choice(std::span<const std::string> choices) const;
  std::chrono::milliseconds duration() const;
  Bytes size() const;
  BitRate bit_rate() const;

  std::vector<Value> list() const;  ///< Returns the items of a list; null counts as an empty list.
  std::vector<std::string> texts() const;  ///< Returns the items of a list as texts.
  /// Returns the entries of a map; null counts as an empty map.
  std::vector<std::pair<std::string, Value>> entries() const;

  /// Returns the value of `key` in this map; absent if the map has no such key. A key without a
  /// value ("nodes:") is present, and can be read only as an empty list or map.
  std::optional<Value> find(std::string_view key) const;

  /// Throws for a key that is not in `known`, with its path and the nearest known one, or with the
  /// nearest of `flags`: what only a flag of the command line sets.
  void allow_only(std::initializer_list<std::string_view> known) const;
  void allow_only(const std::vector<std::string>& known,
                  const std::vector<std::string>& flags = {}) const;

  /// Returns an Error about this value, with its place.
  Error error(const std::string& message) const;

  /// Returns `parse(text())`. Adds the place of this value to its errors.
  template <class Parse>
  auto parsed(Parse parse) const {
    const std::string written = text();
    try {
      return parse(written);
    } catch (const Error& e) {
      throw error(e.what());
    }
  }

  /// Calls `check`, which has no arguments. Adds the place of this value to its errors.
  template <class Check>
  void checked(Check check) const {
    try {
      check();
    } catch (const Error& e) {
      throw error(e.what());
    }
  }

 private:
  /// Returns what `parse` makes of a scalar without quotes.
  template <class Parse>
  auto unquoted(const std::string& wanted, const Parse& parse) const;
  [[noreturn]] void refuse(const std::string& wanted) const;
  [[noreturn]] void refuse(const std::string& wanted, const std::string& met) const;
  std::string quoted_name() const;

  TreePtr tree_;
  std::string name_;
};

}  // namespace fastgpu::config
