#include "ssh/escape_keys.hpp"

#include <utility>

namespace fastgpu::ssh {

/// Handles `key`, which follows a "~" at the start of a line. Returns true if nothing of it is
/// passed on.
bool EscapeKeys::escape(char key, std::string& out) {
  line_starts_ = key == '?';
  if (key == '.') leave_ = true;
  if (key == '?') help_ = true;
  if (key == '.' || key == '?') return true;
  out += '~';
  return key == '~';
}

void EscapeKeys::filter(std::string_view typed, std::string& out) {
  for (const char key : typed) {
    if (std::exchange(held_, false) && escape(key, out)) {
      if (leave_) return;
      continue;
    }
    held_ = key == '~' && line_starts_;
    if (held_) continue;
    out += key;
    line_starts_ = key == '\r' || key == '\n';
  }
}

bool EscapeKeys::take_help() noexcept {
  return std::exchange(help_, false);
}

std::string_view escape_help() noexcept {
  return "\r\nAt the start of a line:\r\n"
         "  ~.  leave, whatever the node does\r\n"
         "  ~~  send one ~\r\n"
         "  ~?  this help\r\n";
}

}  // namespace fastgpu::ssh
