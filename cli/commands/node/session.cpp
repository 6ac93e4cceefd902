#include "cli/commands/node/session.hpp"
#include "cli/workflows/remote_target.hpp"

#include <unistd.h>

#include <array>
#include <optional>

#include "base/counted.hpp"
#include "cli/workflows/lookup.hpp"
#include "ssh/interactive.hpp"

namespace fastgpu::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Returns the variables for the user's language and character set. Debian's sshd accepts these by
/// default.
Variables locale_of(const state::Environment& environment) {
  constexpr std::array kNames = {"LANG",        "LC_ALL",      "LC_CTYPE",   "LC_COLLATE",
                                 "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"};
  Variables out;
  for (const char* const name : kNames)
    if (const auto value = environment(name)) out.emplace_back(name, *value);
  return out;
}

}  // namespace

RemoteTarget one_node(Context& context, const std::string& text, std::string_view who) {
  std::string wanted = text;
  if (find_target(context, wanted).node_set.empty()) {
    const auto nodes = find_nodes(context, find_cluster(context, wanted), "");
    if (!nodes.empty()) wanted += "/" + nodes.front().name.value;
  }
  RemoteTarget found = running_nodes(context, wanted);
  if (found.hosts.size() != 1)
    throw Error(ErrorKind::usage, std::string(who) + ": '" + printable(text) + "' names " +
                                      counted(found.hosts.size(), "node") +
                                      ", but one node is needed");
  return found;
}

bool has_terminal() noexcept {
  return ::isatty(STDIN_FILENO) == 1;
}

ssh::Exit run_session(Context& context, const ssh::Host& host, std::string command) {
  ssh::InteractiveOptions session;
  session.command = std::move(command);
  session.connect_timeout = context.settings().duration("connect-timeout");
  std::optional<ssh::RawTerminal> raw;
  std::optional<ssh::ResizeWatch> resize;
  session.terminal = {.type = context.environment()("TERM").value_or("xterm"),
                      .modes = ssh::terminal_modes(STDIN_FILENO)};
  session.window_size = [] { return ssh::window_size(STDIN_FILENO); };
  session.variables = locale_of(context.environment());
  if (has_terminal()) {
    resize.emplace();
    session.resize_fd = resize->fd();
    // Until the session has started, Ctrl-C must reach us: the node may not answer.
    session.on_started = [&raw] { raw.emplace(STDIN_FILENO); };
  }
  context.ui().give_stdout_away();
  return ssh::run_interactive(host, session, context.cancel());
}

}  // namespace fastgpu::cli
