#include <unistd.h>

#include <memory>
#include <optional>

#include "base/quote.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/commands/remote_output.hpp"
#include "ssh/interactive.hpp"

namespace fastgpu::cli {
namespace {

struct Options {
  std::string target;
  bool terminal = false;
  std::vector<std::string> program;
};

int run(Context& context, const Options& options) {
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
  if (ours && (options.program.empty() || options.terminal)) {
    session.terminal = context.environment()("TERM").value_or("xterm");
    session.window_size = [] { return ssh::window_size(STDIN_FILENO); };
    resize.emplace();
    session.resize_fd = resize->fd();
    raw.emplace(STDIN_FILENO);
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
  arguments.flag("--tty", "Give the program a terminal", options->terminal).letter = "-t";
  arguments.program(
      {"What to run in place of a shell, its arguments unchanged", false, &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
