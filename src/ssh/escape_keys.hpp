// The escape keys of an interactive session, as in ssh: "~." at the start of a line.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Filters typed keys, in pieces of any size. "~." leaves the session, "~?" shows the help, and
/// "~~" is one "~". Before any other key a "~" is an ordinary key.
class EscapeKeys {
 public:
  /// Appends to `out` the part of `typed` for the remote side. Appends nothing after "~.".
  void filter(std::string_view typed, std::string& out);

  bool leave() const noexcept { return leave_; }
  /// Returns true if help was requested since the last call.
  bool take_help() noexcept;

 private:
  bool escape(char key, std::string& out);

  bool line_starts_ = true;
  bool held_ = false;  // A "~" was typed, and the next key decides.
  bool leave_ = false;
  bool help_ = false;
};

/// Returns the help text, for a terminal in raw mode.
std::string_view escape_help() noexcept;

}  // namespace fastgpu::ssh
