// One child process, owned: it does not outlive its owner unless it is released.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "process/command.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::process {

/// A child process. Destruction kills it (its whole group, if it has one of its own) and reaps it.
class Child {
 public:
  /// Returns once the program runs. Throws not_found if the program does not exist, denied if it
  /// may not be run, and names the directory if that is the problem.
  explicit Child(const Command& command);
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  pid_t pid() const noexcept { return pid_; }

  /// Returns our ends of the streams with StreamMode::pipe, blocking; empty for the others.
  UniqueFd& in() noexcept { return in_; }
  UniqueFd& out() noexcept { return out_; }
  UniqueFd& err() noexcept { return err_; }

  /// Returns how it ended; absent while it runs.
  std::optional<ExitStatus> poll();

  ExitStatus wait();

  /// Waits at most `limit`; returns nothing if it still runs then, or if `cancel` came first.
  std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit, const Cancel* cancel);

  /// Sends the signal once to the child, and to its group if it has one of its own. No error if the
  /// child has ended.
  void signal(int number) noexcept;

  /// Detaches the child: from here on we neither kill nor reap it.
  void release() noexcept { pid_ = -1; }

 private:
  pid_t pid_ = -1;
  bool leads_group_ = false;
  std::optional<ExitStatus> ended_;
  UniqueFd in_, out_, err_;
};

}  // namespace fastgpu::process
