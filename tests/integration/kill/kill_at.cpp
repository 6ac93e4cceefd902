// kill-at N ARGV...: runs a program and kills it by SIGKILL as it enters its N-th system call that
// can change the world outside it. Children that it forks are left alone.
//
// Exit status: 0 when it was killed, 3 when it ended before; standard error's last line is then
// "calls: <how many there were>". N = 0 never kills, and so counts.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::array kHarmless = {SYS_read,
                                  SYS_pread64,
                                  SYS_readv,
                                  SYS_poll,
                                  SYS_ppoll,
                                  SYS_select,
                                  SYS_pselect6,
                                  SYS_epoll_wait,
                                  SYS_epoll_pwait,
                                  SYS_lseek,
                                  SYS_mmap,
                                  SYS_munmap,
                                  SYS_mprotect,
                                  SYS_brk,
                                  SYS_mremap,
                                  SYS_madvise,
                                  SYS_fstat,
                                  SYS_stat,
                                  SYS_lstat,
                                  SYS_newfstatat,
                                  SYS_statx,
                                  SYS_access,
                                  SYS_faccessat,
                                  SYS_faccessat2,
                                  SYS_readlink,
                                  SYS_readlinkat,
                                  SYS_getdents64,
                                  SYS_getpid,
                                  SYS_gettid,
                                  SYS_getuid,
                                  SYS_geteuid,
                                  SYS_getgid,
                                  SYS_getegid,
                                  SYS_getcwd,
                                  SYS_getrandom,
                                  SYS_getrusage,
                                  SYS_getppid,
                                  SYS_clock_gettime,
                                  SYS_nanosleep,
                                  SYS_clock_nanosleep,
                                  SYS_rt_sigaction,
                                  SYS_rt_sigprocmask,
                                  SYS_futex,
                                  SYS_sched_yield,
                                  SYS_statfs,
                                  SYS_fstatfs,
                                  SYS_uname,
                                  SYS_sysinfo,
                                  SYS_prlimit64,
                                  SYS_arch_prctl,
                                  SYS_set_tid_address,
                                  SYS_set_robust_list,
                                  SYS_rseq,
                                  SYS_getsockopt,
                                  SYS_getsockname,
                                  SYS_getpeername,
                                  SYS_recvfrom,
                                  SYS_recvmsg,
                                  SYS_sched_getaffinity,
                                  SYS_close};

bool changes_the_world(long number) {
  return std::find(kHarmless.begin(), kHarmless.end(), number) == kHarmless.end();
}

void* as_data(unsigned long value) {
  return reinterpret_cast<void*>(value);
}

[[noreturn]] void start(char** argv) {
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::raise(SIGSTOP);
  ::execvp(argv[0], argv);
  std::perror(argv[0]);
  std::_Exit(127);
}

bool is_entry(pid_t thread) {
  __ptrace_syscall_info info{};
  ::ptrace(PTRACE_GET_SYSCALL_INFO, thread, as_data(sizeof info), &info);
  return info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_the_world(long(info.entry.nr));
}

/// The signal to hand on to a thread that stopped with `status`; 0 for stops that are ours.
unsigned long signal_to_deliver(int status) {
  const int signal = WSTOPSIG(status);
  if (signal == (SIGTRAP | 0x80) || signal == SIGTRAP || (status >> 16) != 0) return 0;
  return signal == SIGSTOP ? 0 : static_cast<unsigned long>(signal);
}

/// Runs `child` to its end or to its `limit`-th call; the number of calls seen.
long trace(pid_t child, long limit, bool& killed) {
  long calls = 0;
  for (;;) {
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL);
    if (thread < 0) return calls;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread == child) return calls;
      continue;
    }
    if (!killed && WSTOPSIG(status) == (SIGTRAP | 0x80) && is_entry(thread) && ++calls == limit) {
      killed = true;
      ::kill(child, SIGKILL);
    }
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, as_data(signal_to_deliver(status)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: kill-at N ARGV...\n");
    return 2;
  }
  const pid_t child = ::fork();
  if (child == 0) start(argv + 2);
  int status = 0;
  ::waitpid(child, &status, 0);
  constexpr unsigned long kOptions =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, as_data(kOptions));
  ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  bool killed = false;
  const long calls = trace(child, std::atol(argv[1]), killed);
  if (killed) return 0;
  std::fprintf(stderr, "calls: %ld\n", calls);
  return 3;
}
