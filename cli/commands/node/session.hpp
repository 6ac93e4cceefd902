// A session with a terminal on one node.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/remote_target.hpp"

namespace fastgpu::cli {

/// Returns the node of "CLUSTER[/NODE]", or the first node if none is named. Throws usage, with a
/// message that begins with `who`, if several are named. Otherwise throws as running_nodes() does.
RemoteTarget one_node(Context& context, const std::string& text, std::string_view who);

bool has_terminal() noexcept;  ///< Returns true if standard input is a terminal.

/// Runs `command` with the login shell on the node, or the login shell itself if `command` is
/// empty. The session gets a terminal of the type and size of ours, and receives all keys until it
/// ends.
ssh::Exit run_session(Context& context, const ssh::Host& host, std::string command);

}  // namespace fastgpu::cli
