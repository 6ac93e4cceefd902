// `exec`: one command that ends when the connection that asked for it ends.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <random>

#include "agent/options.hpp"
#include "agent/processes.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/signals.hpp"
#include "agent/subcommands.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::chrono::milliseconds kGrace{2'000};

struct Request {
  std::vector<std::string> environment;
  std::vector<std::string> argv;
};

Request parse(Arguments arguments) {
  Options options(arguments);
  Request request;
  while (!options.take_flag("--")) {
    if (const auto assignment = options.take_value("--env")) {
      if (assignment->find('=') == std::string::npos)
        throw Error(ErrorKind::usage, "--env '" + printable(*assignment) + "' has no '='");
      request.environment.push_back(*assignment);
    } else {
      throw Error(ErrorKind::usage, "'" + printable(options.take_word("--")) +
                                        "' is not expected: write exec [--env K=V] -- COMMAND");
    }
  }
  request.argv = options.take_rest();
  if (request.argv.empty()) throw Error(ErrorKind::usage, "exec has no command after '--'");
  return request;
}

std::string new_marker() {
  std::random_device random;
  return std::string(kExecMarker) + "=" + std::to_string(::getpid()) + "-" +
         std::to_string(random()) + std::to_string(random());
}

/// Whether the other end of `fd` has gone; what it sends is thrown away.
bool has_ended(int fd) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
}

process::Command command_of(const Request& request, const std::string& marker) {
  process::Command command{.argv = request.argv};
  command.in.mode = process::StreamMode::null;
  command.grouping = process::Grouping::session;
  command.environment = process::current_environment();
  for (const std::string& assignment : request.environment)
    process::set_variable(*command.environment, assignment);
  process::set_variable(*command.environment, marker);
  return command;
}

/// Until the command has ended, or we are told to end it; true for the latter.
bool wait_for_end_or_order(SignalQueue& signals, Reaper& reaper) {
  for (;;) {
    pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    bool ordered = fds[0].revents != 0 && has_ended(STDIN_FILENO);
    while (const auto number = signals.next())
      ordered = ordered || *number != SIGCHLD;
    reaper.reap();
    if (reaper.ended()) return false;
    if (ordered) return true;
  }
}

}  // namespace

int run_exec(Arguments arguments) {
  const Request request = parse(arguments);
  const std::string marker = new_marker();
  become_subreaper();
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP});
  process::Child child(command_of(request, marker));
  const pid_t pid = child.pid();
  child.release();
  Reaper reaper(pid);
  if (wait_for_end_or_order(signals, reaper)) {
    const Belonging all{.marker = marker, .session = pid, .offspring = Offspring::included};
    end_processes(all, kGrace, [&] { reaper.reap(); });
  }
  return end_like(reaper.ended().value_or(process::ExitStatus{.code = 0, .signal = SIGKILL}));
}

}  // namespace fastgpu::agent
