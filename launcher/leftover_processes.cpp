#include "launcher/leftover_processes.hpp"

#include <cstddef>

#include "launcher/engines/mpirun_words.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {

bool leaves_processes(const agent::JobEnd& end, const JobSpec& spec) {
  const bool is_well = end.cause == agent::StopCause::none && end.how.ok();
  return spec.leftovers == Leftovers::kept && !is_well;
}

bool needs_sweep(const JobReport& report, const JobSpec& spec) {
  if (!report.launcher) return false;
  const auto ranks = static_cast<std::size_t>(total_ranks(report.placement));
  // A daemon that was killed leaves its session behind, even if all ranks have ended.
  const bool have_all_ended =
      report.ranks.size() == ranks && !node_lost_by_launcher(report.launcher_tail);
  return (!report.launcher->how.ok() && !have_all_ended) ||
         leaves_processes(*report.launcher, spec);
}

}  // namespace fastgpu::launcher
