// Runs code in a child process, which can be killed, or stands for another fastgpu process.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <utility>

namespace fastgpu::test {

/// How the child ended.
struct ChildEnd {
  int status = 0;  ///< The exit status; 0 if a signal ended it.
  int signal = 0;  ///< The signal that ended it; 0 if it exited.
};

/// A forked child that runs `work`. It exits with the result, or with 99 if `work` throws. The
/// destructor kills and reaps it.
class Child {
 public:
  template <class Work>
  explicit Child(Work work) : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) ::_exit(run(work));
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() const noexcept { ::kill(pid_, SIGKILL); }
  pid_t pid() const noexcept { return pid_; }

  ChildEnd wait() {
    int status = 0;
    REQUIRE(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
    return {WEXITSTATUS(status), 0};
  }

 private:
  template <class Work>
  static int run(Work& work) noexcept try {
    return work();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "child: %s\n", e.what());
    return 99;
  }

  pid_t pid_;
};

/// Runs `work` in a child and returns how it ended.
template <class Work>
ChildEnd in_child(Work work) {
  return Child(std::move(work)).wait();
}

/// Waits for a child that the caller has forked. Returns its exit status, or 128 plus the number of
/// the signal that ended it.
inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace fastgpu::test
