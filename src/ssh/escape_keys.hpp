// The keys for this side and not for the far end, as in ssh: "~." at the start of a line.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Follows typed keys, in pieces of any size. "~." leaves, "~?" shows the help, "~~" is one "~";
/// before any other key a "~" is itself.
class EscapeKeys {
 public:
  /// Appends to `out` the part of `typed` for the far end; nothing more after "~.".
  void filter(std::string_view typed, std::string& out);

  bool leave() const noexcept { return leave_; }
  /// Returns whether help has been asked for since the last call.
  bool take_help() noexcept;

 private:
  bool escape(char key, std::string& out);

  bool line_starts_ = true;
  bool held_ = false;  // A "~" that waits for the key after it.
  bool leave_ = false;
  bool help_ = false;
};

/// Returns the help text, for a terminal in raw mode.
std::string_view escape_help() noexcept;

}  // namespace fastgpu::ssh
