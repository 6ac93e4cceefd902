// One session on one node, with the user's streams and, if that is wanted, a terminal there.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/remote_target.hpp"

namespace fastgpu::cli {

/// Returns the one node of "CLUSTER[/NODE]", the first if it names none. Throws usage, beginning
/// with `who`, if it names several, and else as running_nodes.
RemoteTarget one_node(Context& context, const std::string& text, std::string_view who);

bool has_terminal() noexcept;  ///< Returns true if our standard input is a terminal.

enum class Streams : std::uint8_t { plain, terminal };

/// Runs `command` by the login shell there, or that shell itself if it is empty. With a terminal it
/// has the kind and the size of ours; its keys are ours until the session ends.
ssh::Exit run_session(Context& context, const ssh::Host& host, std::string command,
                      Streams streams);

}  // namespace fastgpu::cli
