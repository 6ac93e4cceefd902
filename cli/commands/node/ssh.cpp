#include <memory>

#include "base/quote.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/session.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/workflows/remote_target.hpp"
#include "ssh/openssh.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct SshOptions {
  std::string target;
  bool terminal = false;
  bool config = false;
  std::vector<std::string> program;
};

/// Prints an OpenSSH configuration for reaching the nodes by other programs.
int print_config(Context& context, const SshOptions& options) {
  if (!options.program.empty())
    throw Error(ErrorKind::usage, "ssh: --config runs nothing: leave out '" +
                                      printable(shell_join(options.program)) + "'");
  const RemoteTarget found = running_nodes(context, options.target, Access::inspect);
  const auto known_hosts =
      state::cluster_directory(context.state_directory(), found.cluster.id) / "known_hosts";
  const bool is_whole = options.target == found.cluster.name.value;
  const std::string text =
      ssh::openssh_config(found.hosts, known_hosts, is_whole ? options.target : "");
  state::write_private_file(known_hosts, ssh::openssh_known_hosts(found.hosts));
  context.ui().data(text);
  return 0;
}

int run(Context& context, const SshOptions& options) {
  if (options.config) return print_config(context, options);
  const RemoteTarget found = one_node(context, options.target, "ssh");
  const bool login = has_terminal() && options.program.empty();
  return run_session(context, found.hosts.front(), shell_join(options.program),
                     options.terminal || login ? Streams::terminal : Streams::plain)
      .code();
}

}  // namespace

Action make_ssh_command(Arguments& arguments) {
  auto options = std::make_shared<SshOptions>();
  describe_one_node(arguments, options->target);
  arguments.flag("--tty", "Allocate a terminal, even if there is none here", options->terminal)
      .letter = "-t";
  arguments.flag("--config", "Print a configuration for OpenSSH instead of logging in",
                 options->config);
  arguments.program(
      {"The program to run instead of a shell, and its arguments, passed on unchanged", false,
       &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
