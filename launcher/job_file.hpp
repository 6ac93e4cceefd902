// job.yaml: a job in the user's own file. Missing fields are absent here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/document.hpp"
#include "launcher/job.hpp"
#include "transfer/node_path.hpp"

namespace fastgpu::launcher {

/// A variable whose value is not in the job file.
struct JobSecret {
  std::string name;
  /// The file on this machine with the value, as written; empty: it is in our environment.
  std::string file{};
  std::string place{};  ///< The beginning of errors about it: "job.yaml:2:11: 'secrets[0]'".
};

/// The bound of priorities, and of their negative values.
inline constexpr int kMostPriority = 1'000;

struct JobFile {
  std::optional<std::string> name{};
  std::optional<std::string> cluster{};
  std::optional<int> np{};
  std::optional<int> npernode{};
  std::optional<std::string> per{};  ///< The part of a node that each rank has for itself.
  /// Variables in the order written, and behind them those of `mpi` and `nccl`.
  std::vector<std::pair<std::string, std::string>> env{};
  std::vector<JobSecret> secrets{};
  std::optional<std::string> environment{};  ///< The name of one of the cluster's environments.
  /// A directory on this machine, as written in the file.
  std::optional<std::string> sync{};
  std::optional<transfer::NodePath> workdir{};  ///< A directory on the nodes.
  std::vector<std::string> command{};           ///< Empty if the file has none.
  std::optional<std::chrono::milliseconds> timeout{};
  std::optional<std::chrono::milliseconds> grace{};
  std::optional<bool> keep_processes{};
  std::optional<std::string> on_full{};  ///< "continue" or "stop".
  std::optional<int> keep_jobs{};        ///< Ended jobs whose folders stay on the nodes.
  std::optional<bool> detach{};
  std::optional<int> priority{};
  std::vector<std::string> after{};  ///< Names or ids of jobs.
  std::optional<bool> share{};
  std::optional<std::chrono::milliseconds> hang_timeout{};
  std::optional<int> retry{};
  std::vector<state::JobEndCause> retry_on{};
  std::optional<transfer::NodePath> checkpoints{};  ///< A directory on the nodes.
  std::vector<transfer::NodePath> fetch{};          ///< Paths on the nodes.
  std::optional<std::string> fetch_to{};            ///< A directory on this machine, as written.
  std::optional<std::string> notify{};              ///< A line for the shell of this machine.
  std::optional<std::string> array{};               ///< The range, as written.
  std::optional<std::string> parameters{};          ///< A file on this machine, as written.
  std::optional<std::string> engine{};
  std::optional<SlurmOptions> slurm{};
  std::optional<KubernetesOptions> kubernetes{};
  std::optional<std::string> launcher{};
  std::optional<std::string> stdin_to{};  ///< The field `stdin`.
};

/// Reads a job. Throws ErrorKind::usage with line and column for an invalid file.
JobFile read_job_file(const config::Document& document);

}  // namespace fastgpu::launcher
