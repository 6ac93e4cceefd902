// An owned child process: it does not outlive its owner unless it is released.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "base/cancel.hpp"
#include "base/unique_fd.hpp"
#include "process/command.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::process {

/// A child process. The destructor kills and reaps it, with its whole group if it has a group of
/// its own.
class Child {
 public:
  /// Starts the program and returns once it runs. Throws not_found if the program does not exist,
  /// and denied if it may not be run. If the directory is the problem, the error names it.
  explicit Child(const Command& command);
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  pid_t pid() const noexcept { return pid_; }

  /// Returns our ends of the streams with StreamMode::pipe, blocking; empty for the others.
  UniqueFd& in() noexcept { return in_; }
  UniqueFd& out() noexcept { return out_; }
  UniqueFd& err() noexcept { return err_; }

  /// Returns how the child ended; absent while it runs.
  std::optional<ExitStatus> poll();

  ExitStatus wait();

  /// Waits for the child for at most `limit`. Absent if it still runs then, or if `cancel` is
  /// requested first.
  std::optional<ExitStatus> wait_for(std::chrono::milliseconds limit, const Cancel* cancel);

  /// Sends the signal to the child, and to its group if it has one of its own. Does nothing if the
  /// child has ended.
  void signal(int number) noexcept;

  /// Detaches the child: it is neither killed nor reaped from now on.
  void release() noexcept { pid_ = -1; }

 private:
  pid_t pid_ = -1;
  bool leads_group_ = false;
  std::optional<ExitStatus> ended_;
  UniqueFd in_, out_, err_;
};

}  // namespace fastgpu::process
