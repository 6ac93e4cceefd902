#include <unistd.h>

#include <array>
#include <memory>
#include <optional>

#include "base/quote.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/commands/remote_output.hpp"
#include "ssh/interactive.hpp"
#include "ssh/openssh.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct Options {
  std::string target;
  bool terminal = false;
  bool config = false;
  std::vector<std::string> program;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

/// In which language and letters the user reads; Debian's sshd takes these by default.
Variables locale_of(const state::Environment& environment) {
  constexpr std::array kNames = {"LANG",        "LC_ALL",      "LC_CTYPE",   "LC_COLLATE",
                                 "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"};
  Variables out;
  for (const char* const name : kNames)
    if (const auto value = environment(name)) out.emplace_back(name, *value);
  return out;
}

/// For people and programs that go to the nodes by OpenSSH.
int print_config(Context& context, const Options& options) {
  if (!options.program.empty())
    throw Error(ErrorKind::usage, "ssh: --config runs nothing: leave out '" +
                                      printable(shell_join(options.program)) + "'");
  const RemoteTarget found = running_nodes(context, options.target, Coming::to_look);
  const auto known_hosts =
      state::cluster_directory(context.state_directory(), found.cluster.id) / "known_hosts";
  const std::string text = ssh::openssh_config(found.hosts, known_hosts);
  state::write_private_file(known_hosts, ssh::openssh_known_hosts(found.hosts));
  context.ui().data(text);
  return 0;
}

int run(Context& context, const Options& options) {
  if (options.config) return print_config(context, options);
  std::string wanted = options.target;
  if (parse_target(wanted).node_set.empty()) {
    const auto nodes = find_nodes(context, find_cluster(context, wanted), "");
    if (!nodes.empty()) wanted += "/" + nodes.front().name.value;
  }
  const RemoteTarget found = running_nodes(context, wanted);
  if (found.hosts.size() != 1)
    throw Error(ErrorKind::usage, "ssh: '" + printable(options.target) + "' names " +
                                      std::to_string(found.hosts.size()) + " nodes, one is wanted");
  const bool ours = ::isatty(STDIN_FILENO) == 1;
  ssh::InteractiveOptions session;
  session.command = shell_join(options.program);
  std::optional<ssh::RawTerminal> raw;
  std::optional<ssh::ResizeWatch> resize;
  if (options.terminal || (ours && options.program.empty())) {
    session.terminal = {.type = context.environment()("TERM").value_or("xterm"),
                        .modes = ssh::terminal_modes(STDIN_FILENO)};
    session.window_size = [] { return ssh::window_size(STDIN_FILENO); };
    session.variables = locale_of(context.environment());
  }
  if (ours && session.terminal) {
    resize.emplace();
    session.resize_fd = resize->fd();
    // Until then Ctrl-C is for us: a node that does not answer must not hold the user.
    session.on_started = [&raw] { raw.emplace(STDIN_FILENO); };
  }
  return ssh::run_interactive(found.hosts.front(), session, context.cancel()).code();
}

}  // namespace

Action describe_ssh(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& target =
      arguments.text("CLUSTER[/NODE]", "", "The node; the first one without", options->target);
  target.required = true;
  target.values = Values::target;
  arguments.flag("--tty", "Give the program a terminal, even where we have none", options->terminal)
      .letter = "-t";
  arguments.flag("--config", "Print a configuration for OpenSSH, and do nothing else",
                 options->config);
  arguments.program(
      {"What to run in place of a shell, its arguments unchanged", false, &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
