#include "ssh/openssh_session.hpp"

#include "base/login_shell.hpp"
#include "process/child.hpp"
#include "ssh/connection.hpp"
#include "ssh/openssh.hpp"
#include "ssh/openssh_call.hpp"
#include "ssh/openssh_failure.hpp"

namespace fastgpu::ssh {
namespace {

using namespace std::chrono_literals;

constexpr int kSessionFailed = 255;

/// Returns the client's options. They name the variables to send, whose values are in the client's
/// own environment.
std::vector<std::string> options_of(const InteractiveOptions& session, const MemoryFile& log) {
  std::vector<std::string> words{session.terminal ? "-tt" : "-T", "-E", log.path().string()};
  for (const auto& variable : session.variables)
    words.insert(words.end(), {"-o", "SendEnv=" + variable.first});
  return words;
}

}  // namespace

Exit run_openssh_session(const Host& host, const InteractiveOptions& options,
                         const Cancel& cancel) {
  const OpenSshCall call(host, options.connect_timeout);
  const MemoryFile log("");
  process::Command command{.argv = call.argv(options_of(options, log)),
                           .in = {.fd = options.in},
                           .out = {.fd = options.out},
                           .err = {.fd = options.err}};
  if (!options.command.empty()) command.argv.push_back(login_shell_command(options.command));
  process::Child child(command);
  std::optional<process::ExitStatus> ended;
  while (!ended) {
    ended = child.wait_for(1h, &cancel);
    if (!ended && cancel.requested())
      throw Error(ErrorKind::interrupted, place(host) + ": interrupted");
  }
  if (ended->code == kSessionFailed && !openssh_logged_in(log.text()))
    throw openssh_failure(host, log.text(), "");
  if (ended->code == kSessionFailed && openssh_lost(log.text()))
    throw Error(ErrorKind::transient, place(host) + ": connection lost");
  return {.status = ended->shell_code(), .signal = {}};
}

}  // namespace fastgpu::ssh
