#include <array>
#include <csignal>
#include <string_view>
#include <utility>

#include "ssh/client.hpp"

namespace fastgpu::ssh {
namespace {

/// The signals of RFC 4254, which sshd names; the others reach us as "SIG@openssh.com".
constexpr std::array<std::pair<std::string_view, int>, 21> kSignals = {{
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"BUS", SIGBUS},   {"CHLD", SIGCHLD}, {"CONT", SIGCONT},
    {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},   {"INT", SIGINT},   {"KILL", SIGKILL},
    {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV}, {"STOP", SIGSTOP}, {"SYS", SIGSYS},
    {"TERM", SIGTERM}, {"TRAP", SIGTRAP}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ},
}};

}  // namespace

int Exit::code() const noexcept {
  if (signal.empty()) return status;
  for (const auto& [name, number] : kSignals)
    if (signal == name) return 128 + number;
  return 255;  // A signal without a name.
}

}  // namespace fastgpu::ssh
