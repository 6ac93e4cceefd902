// A configuration document as a tree whose every part knows where it was written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fastgpu::config {

/// "cluster.yaml:7:3", or the source alone where there are no lines.
struct Place {
  std::shared_ptr<const std::string> source;
  int line = 0;  ///< From 1; 0 is unknown.
  int column = 0;

  std::string text() const;
};

struct Tree;
using TreePtr = std::shared_ptr<const Tree>;  ///< Shared by the places that an alias names it in.

struct Entry {
  std::string key;
  Place place;
  TreePtr value;
};

struct Tree {
  enum class Kind : std::uint8_t { null, scalar, list, map };

  Kind kind = Kind::null;
  Place place{};
  std::string text{};            ///< Of a scalar.
  bool is_quoted = false;        ///< A scalar in quotes is text, whatever it looks like.
  std::vector<TreePtr> items{};  ///< Of a list.
  std::vector<Entry> entries{};  ///< Of a map, in the order written; no key twice.
  std::size_t weight = 1;        ///< Values in it, with aliases written out.
};

/// Parses one YAML document of at most kLargestText bytes; an empty one is null. Throws
/// ErrorKind::usage with the place of what cannot be read, of a key that is there twice, of nesting
/// deeper than kDeepest, and of aliases that would make more than kMostValues values.
TreePtr parse_yaml(const std::string& text, const std::string& source);

constexpr std::size_t kLargestText = 1 << 20;
constexpr std::size_t kDeepest = 32;
constexpr std::size_t kMostValues = 200'000;

}  // namespace fastgpu::config
