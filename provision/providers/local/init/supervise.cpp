#include "provision/providers/local/init/supervise.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "provision/providers/local/init/system.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTimeout{2'000};  // The time for processes to end after SIGTERM.
constexpr milliseconds kListenLimit{30'000};

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  return set;
}

timespec as_timespec(milliseconds time) {
  return {time.count() / 1000, time.count() % 1000 * 1'000'000};
}

/// Returns the next awaited signal, or 0 if none has come in `limit`.
int next_signal(milliseconds limit) {
  const sigset_t set = awaited_signals();
  const timespec time = as_timespec(limit);
  const int signal = ::sigtimedwait(&set, nullptr, &time);
  return signal < 0 ? 0 : signal;
}

[[noreturn]] void become_sshd(const char* program) {
  const sigset_t set = awaited_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
  ::setsid();
  // sshd must not keep the pipe open on which our maker waits for the answer.
  let_go_of_streams();
  std::array<const char*, 7> argv = {program, "-D", "-f", kSshdConfig, "-E", kSshdLog, nullptr};
  std::array<const char*, 2> environment = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", nullptr};
  // execve takes strings that it does not change without const.
  ::execve(program, const_cast<char**>(argv.data()), const_cast<char**>(environment.data()));
  std::perror(program);
  ::_exit(127);
}

pid_t spawn_sshd(const std::string& program) {
  const pid_t pid = ::fork();
  if (pid == 0) become_sshd(program.c_str());
  if (pid < 0) throw system_error("starting sshd", errno);
  return pid;
}

std::string last_line_of_log() {
  std::string log = read_text(kSshdLog);
  while (!log.empty() && log.back() == '\n')
    log.pop_back();
  return log.empty() ? "its log is empty" : log.substr(log.rfind('\n') + 1);
}

/// Reaps all children that have ended; returns true if `awaited` is among them.
bool reap(pid_t awaited) {
  bool found = false;
  for (pid_t pid; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
    found = found || pid == awaited;
  return found;
}

/// Waits until no child is left. Returns false if the time is up before that.
bool all_gone(milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  for (;;) {
    reap(-1);
    if (::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return true;
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds(0)) return false;
    next_signal(left);
  }
}

void end_everything() {
  for (const int signal : {SIGTERM, SIGHUP, SIGCONT})
    ::kill(-1, signal);
  if (all_gone(kTimeout)) return;
  ::kill(-1, SIGKILL);
  all_gone(kTimeout);
}

/// Returns the reason for sshd's end. An sshd without room for its files reports nothing, as its
/// log has no room either.
Error why_sshd_ended() {
  struct statvfs room {};
  if (::statvfs("/var/log", &room) == 0 && (room.f_bavail == 0 || room.f_favail == 0))
    return {ErrorKind::capacity, "sshd ended at once: the node's file system is full"};
  return {ErrorKind::local, "sshd ended at once: " + last_line_of_log()};
}

}  // namespace

void block_signals() {
  const sigset_t set = awaited_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

int start_sshd(const std::string& program) {
  const UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  // If this machine grants no watch, because too many are in use, frequent polling is enough.
  const bool watched = watch && ::inotify_add_watch(watch.get(), "/run", IN_CREATE) >= 0;
  const sigset_t set = awaited_signals();
  const UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  const pid_t sshd = spawn_sshd(program);
  const auto end = steady_clock::now() + kListenLimit;
  while (::access(kSshdPidFile, F_OK) != 0) {
    if (reap(sshd)) throw why_sshd_ended();
    if (steady_clock::now() > end)
      throw Error(ErrorKind::timeout, "sshd does not listen after 30 s: " + last_line_of_log());
    std::array<pollfd, 2> wait = {pollfd{watch.get(), POLLIN, 0}, pollfd{signals.get(), POLLIN, 0}};
    ::poll(wait.data(), wait.size(), watched ? 1'000 : 10);
    std::array<char, 4096> discarded;
    while (::read(watch.get(), discarded.data(), discarded.size()) > 0) {
    }
    while (::read(signals.get(), discarded.data(), discarded.size()) > 0) {
    }
  }
  return sshd;
}

void supervise(const std::string& sshd_program, int sshd) {
  constexpr milliseconds kForEver{3'600'000};
  constexpr milliseconds kRestartPause{1'000};  // An sshd that cannot start must not eat the CPU.
  bool sshd_lives = true;
  for (;;) {
    const int signal = next_signal(sshd_lives ? kForEver : kRestartPause);
    if (signal == SIGTERM) return end_everything();
    if (reap(sshd)) {
      sshd_lives = false;
    } else if (!sshd_lives && signal == 0) {
      std::fprintf(stderr, "sshd has ended and is started again: %s\n", last_line_of_log().c_str());
      sshd = spawn_sshd(sshd_program);
      sshd_lives = true;
    }
  }
}

}  // namespace fastgpu::provision::local
