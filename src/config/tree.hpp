// A configuration document as a tree whose every part has its place in the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fastgpu::config {

/// A place: "cluster.yaml:7:3", or the source alone if it has no lines.
struct Place {
  std::shared_ptr<const std::string> source;
  int line = 0;  ///< The line from 1; 0 is unknown.
  int column = 0;

  std::string text() const;
};

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;  ///< Shared by the places in which an alias names it.

struct Entry {
  std::string key;
  Place place;
  TreePtr value;
};

struct Tree {
  enum class Kind : std::uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place{};
  std::string text{};            ///< The text of a scalar.
  bool is_quoted = false;        ///< A scalar in quotes is always text.
  std::vector<TreePtr> items{};  ///< The items of a list.
  std::vector<Entry> entries{};  ///< The entries of a map, in the order written; no key twice.
  std::size_t weight = 1;        ///< The values in it, with aliases expanded.
};

/// Parses one YAML document of at most kLargestText bytes; an empty one is null. Throws
/// ErrorKind::usage with the place of an unreadable part, of a repeated key, of nesting deeper than
/// kDeepest, and of aliases that would make more than kMostValues values.
TreePtr parse_yaml(const std::string& text, const std::string& source);

constexpr std::size_t kLargestText = 1 << 20;
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostValues = 200'000;

}  // namespace fastgpu::config
