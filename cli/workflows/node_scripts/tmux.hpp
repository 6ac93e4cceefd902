// The scripts of `fastgpu tmux` for a node, and their answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// The exit codes of tmux_command's script beside tmux's own 0 and 1.
enum TmuxStatus : int { tmux_session_exists = 126, tmux_missing = 127 };

enum class TmuxStart : std::uint8_t {
  attached,  ///< Makes the session, or attaches to the existing one.
  detached   ///< Makes a session and leaves it.
};

/// Throws ErrorKind::usage for text that tmux would not take for a session's name.
void check_session_name(const std::string& name);

/// Returns a command for the remote login shell. With a `program`, or detached, an existing session
/// is left alone: tmux_session_exists. The program's words arrive unchanged.
std::string tmux_command(const std::string& session, const std::vector<std::string>& program,
                         TmuxStart start);

struct TmuxSession {
  std::int64_t created = 0;  ///< Seconds since 1970, by the node's clock.
  int clients = 0;           ///< Terminals that show it now.
  int windows = 0;
  std::string name;
};

/// Returns a program whose output parse_sessions reads; it prints nothing if tmux is missing.
std::vector<std::string> list_sessions_argv();
/// Returns the failure of a listing with that exit code and stderr; empty for a success: a missing
/// server has no sessions.
std::string listing_failure(int code, std::string_view said);
std::vector<TmuxSession> parse_sessions(std::string_view text);

}  // namespace fastgpu::cli
