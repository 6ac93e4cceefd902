// The scripts that `fastgpu tmux` runs on a node, and the parsing of their answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Exit codes of tmux_command()'s script, in addition to 0 and 1 of tmux itself.
enum TmuxStatus : int { tmux_session_exists = 126, tmux_missing = 127 };

enum class TmuxStart : std::uint8_t {
  attached,  ///< Creates the session, or attaches to the existing one.
  detached   ///< Creates a session and does not attach to it.
};

/// Throws ErrorKind::usage if tmux would not accept the name for a session.
void check_session_name(const std::string& name);

/// Returns a command for the login shell on the node. If the session exists, and a `program` is
/// given or the start is detached, the command leaves it alone and exits with tmux_session_exists.
/// The words of the program arrive unchanged.
std::string tmux_command(const std::string& session, const std::vector<std::string>& program,
                         TmuxStart start);

struct TmuxSession {
  std::int64_t created = 0;  ///< The time in seconds since 1970, by the node's clock.
  int clients = 0;           ///< The number of terminals that are attached.
  int windows = 0;
  std::string name;
};

/// Returns a program that lists sessions for parse_sessions(). It prints nothing if tmux is
/// missing.
std::vector<std::string> list_sessions_argv();
/// Returns why a listing failed, by its exit code and stderr; "" for a success. If no server runs,
/// the list is empty, which is a success.
std::string listing_failure(int code, std::string_view said);
std::vector<TmuxSession> parse_sessions(std::string_view text);

}  // namespace fastgpu::cli
