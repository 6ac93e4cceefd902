// The nodes of the job that run job starts.
#pragma once

#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/job/run_job_options.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/job.hpp"
#include "launcher/job_file.hpp"

namespace fastgpu::cli {

/// Returns the nodes to run on. -H names nodes of the cluster, with the slots to use there.
RemoteTarget target_of_job(Context& context, const RunJobOptions& options,
                           const launcher::JobFile& file, Absent absent = Absent::refused);

/// Returns the nodes to run a job of an array on: those that run, without the ones that the array
/// has lost. If the ranks do not fit on them, throws as target_of_job() does for a missing node.
RemoteTarget target_of_element(Context& context, const RunJobOptions& options,
                               const launcher::JobFile& file, const launcher::JobSpec& spec);

/// Returns the record of a job whose nodes the engine chooses: the first node of the target submits
/// it.
launcher::JobRecord submitted_on(const RemoteTarget& target, launcher::JobSpec spec);

/// Makes the ranks run in that environment; an empty name changes nothing. Throws if it is
/// incomplete on one of their nodes.
void enter_environment(const std::string& name, EnvCluster& cluster, launcher::JobRecord& job);

/// Checks the nodes of the job, and shows the findings. Throws remote if one is an error.
void require_sound_nodes(Context& context, const RemoteTarget& target,
                         const launcher::JobRecord& record);

}  // namespace fastgpu::cli
