// The keys that are meant for us and not for the far end, as in ssh: "~." at the start of a line.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Follows what is typed, in pieces of any size. "~." asks to leave, "~?" for help, "~~" is one
/// "~"; before anything else a "~" is itself.
class EscapeKeys {
 public:
  /// Appends to `out` what of `typed` goes to the far end; nothing more once leaving is asked for.
  void filter(std::string_view typed, std::string& out);

  bool leave() const noexcept { return leave_; }
  /// Whether help has been asked for since the last call.
  bool take_help() noexcept;

 private:
  bool escape(char key, std::string& out);

  bool line_starts_ = true;
  bool held_ = false;  // A "~" that waits for the key after it.
  bool leave_ = false;
  bool help_ = false;
};

/// What the help says, for a terminal in raw mode.
std::string_view escape_help() noexcept;

}  // namespace fastgpu::ssh
