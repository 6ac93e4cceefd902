#include <unistd.h>

#include <memory>

#include "base/quote.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/node/session.hpp"
#include "cli/commands/shared/standard_input.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/workflows/remote_target.hpp"
#include "remote/exec.hpp"
#include "remote/shared_input.hpp"
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

/// Returns the program for a login shell that reads its commands from standard input.
std::vector<std::string> login_shell() {
  return {"/bin/sh", "-c", R"(exec "${SHELL:-/bin/sh}" -l)"};
}

/// Runs a program without a terminal. Its processes end with us, as those of `exec`: without a
/// terminal, sshd lets them go on.
int run_supervised(Context& context, const ssh::Host& host,
                   const std::vector<std::string>& program) {
  const bool has_input = is_passed_on(STDIN_FILENO) || has_terminal();
  const auto input = has_input ? std::make_unique<remote::SharedInput>(STDIN_FILENO, 1) : nullptr;
  const remote::ExecOptions settings{
      .connect_timeout = context.settings().duration("connect-timeout"),
      .input = input.get(),
      .delivery = remote::Delivery::pieces};
  context.ui().give_stdout_away();
  PlainSink sink(context);
  const auto result = remote::exec_everywhere(context.ssh(), {&host, 1}, program, context.agent(),
                                              settings, sink, context.cancel())
                          .front();
  if (sink.out().closed()) return kBrokenPipe;
  const remote::Executed& ended = result.value();
  if (!ended.unsupervised.empty())
    context.ui().warn(host.name.value + ": ran without a supervisor: " + ended.unsupervised);
  return sink.out().exit_code_after(ended.exit.code());
}

int run(Context& context, const SshOptions& options) {
  if (options.config) return print_config(context, options);
  const RemoteTarget found = one_node(context, options.target, "ssh");
  const bool is_login = has_terminal() && options.program.empty();
  if (options.terminal || is_login)
    return run_session(context, found.hosts.front(), shell_join(options.program)).code();
  return run_supervised(context, found.hosts.front(),
                        options.program.empty() ? login_shell() : options.program);
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
