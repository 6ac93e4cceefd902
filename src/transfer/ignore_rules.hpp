// Rules that leave files out of a copy, as a .gitignore has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// The last rule that matches an entry decides; without one it is copied.
class IgnoreRules {
 public:
  /// Reads a rule a line: "*.ckpt", "/build/", "data/**/raw", "!keep.ckpt", "# a comment". A rule
  /// without a "/" before its end is for names at any depth, any other for paths below the source;
  /// one that ends with "/" is for directories alone.
  static IgnoreRules parse(std::string_view text);

  bool empty() const noexcept { return rules_.empty(); }

  /// Returns whether the entry with this path below the source is left out. Asked for a directory
  /// before what is in it, which is left out with it.
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
