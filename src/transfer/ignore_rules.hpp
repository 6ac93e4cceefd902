// Rules that leave files out of a copy, as a .gitignore has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// A list of rules. The last rule that matches an entry decides; an entry without one is copied.
class IgnoreRules {
 public:
  /// Reads one rule a line: "*.ckpt", "/build/", "data/**/raw", "!keep.ckpt", "# a comment". A rule
  /// without a "/" before its end matches names at any depth, any other matches paths below the
  /// source. A rule that ends with "/" matches only directories.
  static IgnoreRules parse(std::string_view text);

  bool empty() const noexcept { return rules_.empty(); }

  /// Returns whether the entry with this path below the source is left out. Call it for a directory
  /// before its content, which is left out with it.
  bool leaves_out(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    std::vector<std::string> parts{};  ///< Between the slashes; "**" is any number of them.
    bool includes = false;             ///< Begins with "!".
    bool is_for_directories = false;
  };

  static Rule rule_of(std::string_view line);

  std::vector<Rule> rules_;
};

}  // namespace fastgpu::transfer
