// One session on one node, with the user's streams and, where it is wanted, a terminal there.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands/remote_output.hpp"

namespace fastgpu::cli {

/// The one node that "CLUSTER[/NODE]" names, the first where it names none. Throws usage, beginning
/// with `who`, where it names several, and else as running_nodes.
RemoteTarget one_node(Context& context, const std::string& text, std::string_view who);

bool has_terminal() noexcept;  ///< On our standard input.

enum class Streams : std::uint8_t { plain, terminal };

/// Runs what the login shell there makes of `command`, or that shell itself where it is empty. With
/// a terminal it is of the kind and the size of ours; its keys are ours until the session ends.
ssh::Exit run_session(Context& context, const ssh::Host& host, std::string command,
                      Streams streams);

}  // namespace fastgpu::cli
