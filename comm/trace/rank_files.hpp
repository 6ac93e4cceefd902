// The files of one rank in a folder that a variable names, and the times at which they are written.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <system_error>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// A writer of rank-<number><suffix>. While it lives, others of this process for the same folder
/// and rank write rank-<number>-2<suffix> and so on.
class RankFiles {
 public:
  using Warn = std::function<void(const std::string& sentence)>;
  using Write = std::function<void(std::ostream& out)>;

  /// `folder` is the value of `variable`; empty: nothing is written. `warn` gets a sentence, once,
  /// if files cannot be written there, which is tried at once. Null: nothing is reported.
  RankFiles(std::string variable, std::string folder, Rank rank, Warn warn);
  RankFiles(const RankFiles&) = delete;
  RankFiles& operator=(const RankFiles&) = delete;
  ~RankFiles();

  bool is_wanted() const noexcept { return !folder_.empty(); }

  /// Replaces a file in one step: a reader meanwhile finds the complete earlier one.
  void write(const std::string& suffix, const Write& write);
  /// Replaces a file without a further number, unless a set that was made earlier is open.
  void write_if_first(const std::string& suffix, const Write& write);

 private:
  void replace(const std::string& path, const Write& write);
  void report(const std::error_code& error, const std::string& path);

  std::string variable_;
  std::string folder_;
  Rank rank_;
  Warn warn_;
  std::string path_{};        ///< The path of the files without their suffix.
  std::string first_path_{};  ///< The path without a further number.
  bool is_first_ = false;
};

/// The times to write: every `between`, or less often if that would take more than a hundredth of
/// the time.
class WriteSchedule {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WriteSchedule(Clock::duration between)
      : between_(between), due_(Clock::now() + between) {}

  /// Calls `write` if it is time.
  void write_if_due(const std::function<void()>& write);

 private:
  Clock::duration between_;
  Clock::time_point due_;
};

}  // namespace fastgpu::comm
