// The measuring program as a job: its files, and the results that it prints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/job/first_rank_lines.hpp"
#include "comm/bench/result.hpp"
#include "state/scratch.hpp"

namespace fastgpu::cli {

/// How the measuring program is linked. The static one runs on every node with this kind of
/// processor, and can load no plugin; the other one has the plugin for libfabric beside it.
enum class BenchLinkage : std::uint8_t { without_plugins, with_fabric };

/// A directory on this machine with the measuring program and, if there is one, the model's file.
/// The job copies it to every node. The destructor removes it.
class BenchFiles {
 public:
  /// Creates the directory. `model` may be empty. Throws ErrorKind::local, or as system_error()
  /// does, if that fails.
  BenchFiles(const std::filesystem::path& state_directory, const std::filesystem::path& model,
             BenchLinkage linkage);

  const std::filesystem::path& directory() const noexcept { return scratch_.path(); }

  /// Returns the path of the program, relative to the directory.
  static std::string program();
  /// Returns the path of the model's file, relative to the directory.
  static std::string model_file(const std::filesystem::path& original);

 private:
  state::ScratchDirectory scratch_;
};

/// Collects the results that rank 0 writes to stdout, and shows each as progress. Other output is
/// shown as for other jobs.
class BenchOutput final : public FirstRankLines {
 public:
  explicit BenchOutput(Context& context);

  /// Returns the results so far. Throws ErrorKind::remote if rank 0 printed a line that is not a
  /// result.
  const std::vector<comm::bench::BenchResult>& results() const;

 private:
  std::vector<comm::bench::BenchResult> results_;
};

}  // namespace fastgpu::cli
