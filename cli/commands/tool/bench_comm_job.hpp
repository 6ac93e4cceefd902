// The measuring program on its way to the nodes, and its results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/job/first_rank_lines.hpp"
#include "comm/bench/result.hpp"
#include "state/scratch.hpp"

namespace fastgpu::cli {

/// A directory here with the measuring program, and the model's file if there is one: the job
/// copies it to its place on every node. Removed at the end.
class BenchFiles {
 public:
  /// Makes the directory. `model` may be empty. Throws ErrorKind::local, or as system_error, if it
  /// cannot be made.
  BenchFiles(const std::filesystem::path& state_directory, const std::filesystem::path& model);

  const std::filesystem::path& directory() const noexcept { return scratch_.path(); }

  /// Returns a path relative to the directory.
  static std::string program();
  /// Returns a path relative to the directory.
  static std::string model_file(const std::filesystem::path& original);

 private:
  state::ScratchDirectory scratch_;
};

/// A collector of the results that rank 0 writes to stdout; shows each as progress. All other
/// output is shown as for other jobs.
class BenchOutput final : public FirstRankLines {
 public:
  explicit BenchOutput(Context& context);

  /// Throws ErrorKind::remote for a line other than a result.
  const std::vector<comm::bench::Result>& results() const;

 private:
  std::vector<comm::bench::Result> results_;
};

}  // namespace fastgpu::cli
