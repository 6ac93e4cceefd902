// The stdout of a job's rank 0, line by line, for commands that read it.
#pragma once

#include <functional>
#include <string>

#include "base/outcome.hpp"
#include "cli/commands/job/job_output.hpp"

namespace fastgpu::cli {

/// Passes each line of rank 0's stdout to `take`. Other output is shown as for other jobs.
class FirstRankLines : public JobOutput {
 public:
  using Take = std::function<void(const std::string& line)>;

  FirstRankLines(Context& context, Take take)
      : JobOutput(context, RankLabels::shown), take_(std::move(take)) {}
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;

  /// Throws the first exception of `take`, or ErrorKind::remote if a line was too long.
  void check() const;

 private:
  void fail(const Error& why);
  void take(const std::string& line);

  Take take_;
  std::string unfinished_;
  Outcome<void> first_failure_;
};

}  // namespace fastgpu::cli
