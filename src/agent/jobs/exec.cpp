// `exec`: runs one command, which ends when the connection that requested it ends.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/jobs/processes.hpp"
#include "agent/jobs/program_input.hpp"
#include "agent/options.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/shell_level.hpp"
#include "agent/signals.hpp"
#include "agent/subcommands.hpp"
#include "base/random.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::chrono::milliseconds kExecGrace{2'000};

struct ExecRequest {
  std::vector<std::string> environment;
  std::vector<std::string> argv;
  bool gets_variables = false;  ///< The first frame of our standard input has variables.
  bool gets_input = false;      ///< The later frames have input.
};

ExecRequest parse_exec(Arguments arguments) {
  OptionReader options(arguments);
  ExecRequest request;
  request.gets_variables = options.take_flag("--variables");
  request.gets_input = options.take_flag("--input");
  if (!options.take_flag("--"))
    throw Error(ErrorKind::usage,
                "'" + printable(options.take_word("--")) +
                    "' is not expected: write exec [--variables] [--input] -- COMMAND");
  request.argv = options.take_rest();
  if (request.argv.empty()) throw Error(ErrorKind::usage, "exec has no command after '--'");
  return request;
}

std::string new_marker() {
  return std::string(kExecMarker) + "=" + std::to_string(::getpid()) + "-" + random_hex(8);
}

process::Command command_of(const ExecRequest& request, const std::string& marker) {
  process::Command command{.argv = request.argv};
  command.in.mode = request.gets_input ? process::StreamMode::pipe : process::StreamMode::null;
  command.grouping = process::Grouping::session;
  command.environment = process::current_environment();
  enter_shell(*command.environment);
  for (const std::string& assignment : request.environment)
    process::set_variable(*command.environment, assignment);
  process::set_variable(*command.environment, marker);
  return command;
}

/// Waits until the command has ended or must be ended. Returns true if it must be ended.
bool wait_for_end_or_order(SignalQueue& signals, Reaper& reaper, ProgramInput& input) {
  for (;;) {
    pollfd fds[] = {input.wanted(), input.wanted_of_program(), {signals.fd(), POLLIN, 0}};
    ::poll(fds, 3, -1);
    bool ordered = false;
    if (fds[1].revents != 0) input.pass_on();
    if (fds[0].revents != 0) ordered = !input.receive();
    while (const auto number = signals.next())
      ordered = ordered || *number != SIGCHLD;
    reaper.reap();
    if (reaper.ended()) return false;
    if (ordered) return true;
  }
}

}  // namespace

int run_exec(Arguments arguments) {
  ExecRequest request = parse_exec(arguments);
  ProgramInput input(STDIN_FILENO);
  if (request.gets_variables) request.environment = input.wait_for_variables();
  const std::string marker = new_marker();
  become_subreaper();
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP});
  process::Child child(command_of(request, marker));
  const pid_t pid = child.pid();
  if (request.gets_input) input.pass_to(std::move(child.in()));
  child.release();
  Reaper reaper(pid);
  if (wait_for_end_or_order(signals, reaper, input)) {
    const ProcessGroup all{.marker = marker, .session = pid, .descendants = Descendants::included};
    end_processes(all, kExecGrace, [&] { reaper.reap(); });
  }
  return end_like(reaper.ended().value_or(process::ExitStatus{.code = 0, .signal = SIGKILL}));
}

}  // namespace fastgpu::agent
