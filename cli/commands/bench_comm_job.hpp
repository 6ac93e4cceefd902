// The measuring program on its way to the nodes, and what it sends back.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/first_rank_lines.hpp"
#include "comm/bench/result.hpp"
#include "state/scratch.hpp"

namespace fastgpu::cli {

/// A directory here with the measuring program, and the model's file if there is one: what the job
/// copies to its place on every node. Gone when this ends.
class BenchFiles {
 public:
  /// `model` may be empty. Throws ErrorKind::local, or as system_error, where it cannot be made.
  BenchFiles(const std::filesystem::path& state_directory, const std::filesystem::path& model);

  const std::filesystem::path& directory() const noexcept { return scratch_.path(); }

  static std::string program();                                          ///< From the directory.
  static std::string model_file(const std::filesystem::path& original);  ///< From the directory.

 private:
  state::ScratchDirectory scratch_;
};

/// Collects the results that rank 0 writes to stdout, and shows each as progress. All other output
/// goes where that of jobs goes.
class BenchOutput final : public FirstRankLines {
 public:
  explicit BenchOutput(Context& context);

  /// Throws ErrorKind::remote for what was no result.
  const std::vector<comm::bench::Result>& results() const;

 private:
  std::vector<comm::bench::Result> results_;
};

}  // namespace fastgpu::cli
