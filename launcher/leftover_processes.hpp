// Whether an ended job may have left processes on its nodes. Pure.
#pragma once

#include "agent/protocol/status.hpp"
#include "launcher/job.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// Returns true if processes of the job may stay on nodes other than the first, although the job
/// has not ended well. A rank that has ended well leaves its daemons if that was asked for.
bool leaves_processes(const agent::JobEnd& end, const JobSpec& spec);

/// Returns true if the launcher of a followed job has ended while ranks may be running that it
/// could not reach any more, or may have left processes. Nodes then end them by the job's marker.
bool needs_sweep(const JobReport& report, const JobSpec& spec);

}  // namespace fastgpu::launcher
