// The abilities of each engine. A job that asks an engine for more is refused before anything is
// done. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// A part of a job that not every engine has.
enum class JobFeature : std::uint8_t {
  hosts,                ///< --host
  nodes,                ///< --cluster with some of its nodes
  launcher,             ///< --launcher
  input,                ///< --stdin rank0 or all
  crowding,             ///< --oversubscribe
  sharing,              ///< --share
  priority,             ///< --priority
  leftovers,            ///< --keep-processes
  on_full,              ///< --on-full
  keep_jobs,            ///< --keep-jobs
  cluster,              ///< --cluster
  sync,                 ///< --sync
  secrets,              ///< --secret
  environment,          ///< --environment
  array,                ///< --array and --parameters
  retry,                ///< --retry
  hang_timeout,         ///< --hang-timeout
  checkpoints,          ///< --checkpoints
  post_mortem,          ///< --post-mortem
  fetch,                ///< --fetch
  check,                ///< --check
  rank_unit,            ///< --per
  slurm_settings,       ///< `slurm` in a job file.
  kubernetes_settings,  ///< `kubernetes` in a job file.
};

/// Returns why the engine does not have this, with a remedy; empty if it does.
std::string_view reason_against(EngineKind engine, JobFeature feature);

/// Throws ErrorKind::usage for the first of `asked` that the engine does not have, with its name.
void check_features(EngineKind engine, std::span<const JobFeature> asked);

}  // namespace fastgpu::launcher
