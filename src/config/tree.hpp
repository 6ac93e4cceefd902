// A configuration document as a tree. Each part has its place in the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fastgpu::config {

/// A place in a text: "cluster.yaml:7:3", or only the source if that has no lines.
struct SourcePosition {
  std::shared_ptr<const std::string> source;
  int line = 0;  ///< The line, counted from 1; 0 if it is unknown.
  int column = 0;

  std::string text() const;
};

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;  ///< Shared by all places whose aliases refer to it.

struct Entry {
  std::string key;
  SourcePosition place;
  TreePtr value;
};

struct Tree {
  enum class Kind : std::uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  SourcePosition place{};
  std::string text{};            ///< The text of a scalar.
  bool is_quoted = false;        ///< A scalar in quotes is always text.
  std::vector<TreePtr> items{};  ///< The items of a list.
  /// The entries of a map, in the order of the text. Keys are unique.
  std::vector<Entry> entries{};
  std::size_t weight = 1;  ///< The number of values, with aliases expanded.
};

/// Parses one YAML document of at most kLargestText bytes. An empty document is null. Throws
/// ErrorKind::usage, with the place, for invalid YAML, for a repeated key, for nesting deeper than
/// kDeepest, and for aliases that expand to more than kMostValues values.
TreePtr parse_yaml(const std::string& text, const std::string& source);

constexpr std::size_t kLargestText = 1 << 20;
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostValues = 200'000;

}  // namespace fastgpu::config
