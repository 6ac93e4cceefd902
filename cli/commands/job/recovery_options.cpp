#include "cli/commands/job/recovery_options.hpp"

#include "base/error.hpp"
#include "cli/commands/shared/node_path_flag.hpp"
#include "launcher/recovery.hpp"

namespace fastgpu::cli {

void describe_recovery(Arguments& arguments, RecoveryFlags& flags) {
  arguments.group("Recovery");
  arguments.duration(
      "--hang-timeout",
      "End the job if no rank has output, processor time or traffic for this long [10m]",
      flags.hang_timeout);
  arguments.count("--retry", "N", "Start the job again, at most N times", flags.retries, 0,
                  launcher::kMostRetries);
  arguments.text("--on", "CAUSE,...",
                 "Causes to start again: failure too (node-loss,preempted,hang)", flags.retry_on);
  describe_node_path(arguments, "--checkpoints", "DIR",
                     "Directory on the nodes, FASTGPU_CHECKPOINT_DIR for ranks (none)",
                     flags.checkpoints);
}

void set_recovery(launcher::JobSpec& spec, const RecoveryFlags& flags,
                  const launcher::JobFile& file) {
  if (const auto limit = flags.hang_timeout ? flags.hang_timeout : file.hang_timeout) {
    launcher::check_hang_timeout(*limit);
    spec.hang_timeout = *limit;
  }
  spec.retries = flags.retries ? *flags.retries : file.retry.value_or(0);
  if (const auto place = flags.checkpoints ? flags.checkpoints : file.checkpoints)
    spec.checkpoints = place->value;
  if (!flags.retry_on.empty())
    spec.retry_on = launcher::parse_retry_causes(flags.retry_on);
  else
    spec.retry_on = file.retry_on;
  if (!spec.retry_on.empty() && spec.retries == 0)
    throw Error(ErrorKind::usage,
                "run job: there are causes to start the job again, but no --retry (--retry 3)");
  if (spec.retry_on.empty() && spec.retries > 0) spec.retry_on = launcher::usual_retry_causes();
}

bool needs_follower(const launcher::JobSpec& spec) {
  return spec.retries > 0 || spec.hang_timeout.count() > 0;
}

}  // namespace fastgpu::cli
