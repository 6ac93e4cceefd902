// The entries that a copy has left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

/// Entries of directories that were not sent, at most a thousand of each kind.
struct NotSent {
  /// Files and directories that were listed but had disappeared when they were to be sent.
  std::vector<std::string> vanished{};
  std::vector<std::string> special{};  ///< Pipes, sockets and devices.
  /// Directories that stay on this machine: fastgpu's own keys and records.
  std::vector<std::string> kept_here{};

  bool empty() const noexcept { return vanished.empty() && special.empty() && kept_here.empty(); }
};

std::string to_text(const NotSent& entries);

/// Reads a text of to_text() that may have been cut short; lines of another form are ignored.
NotSent parse_not_sent(std::string_view text);

}  // namespace fastgpu::transfer
