// Rules in the form of .gitignore that exclude files from a copy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// A list of rules. The last rule that matches an entry decides. An entry that no rule matches is
/// copied.
class IgnoreRules {
 public:
  /// Parses one rule per line: "*.ckpt", "/build/", "data/**/raw", "!keep.ckpt", "# a comment". A
  /// rule with a "/" only at its end, or without one, matches names at any depth; other rules match
  /// paths below the source. A rule that ends with "/" matches only directories.
  static IgnoreRules parse(std::string_view text);

  bool empty() const noexcept { return rules_.empty(); }

  /// Returns true if the entry with this path below the source is excluded. Call it for a directory
  /// before its content, which is excluded with it.
  bool leaves_out(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    /// The names between the slashes; "**" is any number of names.
    std::vector<std::string> parts{};
    bool includes = false;  ///< True if the rule begins with "!".
    bool is_for_directories = false;
  };

  static Rule rule_of(std::string_view line);

  std::vector<Rule> rules_;
};

}  // namespace fastgpu::transfer
