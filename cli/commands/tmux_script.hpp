// What `fastgpu tmux` has a node do, and what the node answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// What the script of tmux_command exits with beside tmux's own 0 and 1.
enum TmuxStatus : int { tmux_session_exists = 126, tmux_missing = 127 };

enum class TmuxStart : std::uint8_t {
  attached,  ///< Makes the session, or goes to the one that is there.
  detached   ///< Makes a session and leaves it.
};

/// Throws ErrorKind::usage for what tmux would take for something else than a session's name.
void check_session_name(const std::string& name);

/// For the remote login shell. With a `program`, or detached, a session that exists is left alone:
/// tmux_session_exists. The program's words arrive unchanged.
std::string tmux_command(const std::string& session, const std::vector<std::string>& program,
                         TmuxStart start);

struct TmuxSession {
  std::int64_t created = 0;  ///< Seconds since 1970, by the node's clock.
  int clients = 0;           ///< Terminals that show it now.
  int windows = 0;
  std::string name;
};

/// A program whose output parse_sessions reads; says nothing where there is no tmux.
std::vector<std::string> list_sessions_argv();
/// What is wrong where it ended with that code and said that on standard error; empty where nothing
/// is: a server that is not there has no sessions.
std::string listing_failure(int code, std::string_view said);
std::vector<TmuxSession> parse_sessions(std::string_view text);

}  // namespace fastgpu::cli
