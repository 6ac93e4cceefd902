#include "cli/commands/job/asked_features.hpp"

#include <string>
#include <utility>

#include "cli/commands/job/job_input.hpp"

namespace fastgpu::cli {
namespace {

bool names_nodes(const std::string& cluster) {
  return cluster.find('/') != std::string::npos;
}

}  // namespace

std::vector<launcher::JobFeature> asked_features(const RunJobOptions& options,
                                                 const launcher::JobFile& file) {
  using launcher::JobFeature;
  const std::vector<std::pair<bool, JobFeature>> all = {
      {!options.hosts.empty(), JobFeature::hosts},
      {names_nodes(options.cluster.empty() ? file.cluster.value_or("") : options.cluster),
       JobFeature::nodes},
      {!options.launcher.empty() || file.launcher, JobFeature::launcher},
      {wants_input(options, file), JobFeature::input},
      {options.oversubscribe, JobFeature::crowding},
      {options.share || file.share.value_or(false), JobFeature::sharing},
      {options.priority || file.priority, JobFeature::priority},
      {options.keep_processes || file.keep_processes.value_or(false), JobFeature::leftovers},
      {!options.on_full.empty() || file.on_full, JobFeature::on_full},
      {options.keep_jobs || file.keep_jobs, JobFeature::keep_jobs},
      {!options.cluster.empty() || file.cluster, JobFeature::cluster},
      {!options.sync.empty() || file.sync, JobFeature::sync},
      {!options.secrets.empty() || !file.secrets.empty(), JobFeature::secrets},
      {!options.environment.empty() || (file.environment && !options.no_environment),
       JobFeature::environment},
      {wants_array(options.array, file), JobFeature::array},
      {options.recovery.retries.value_or(file.retry.value_or(0)) > 0, JobFeature::retry},
      {options.recovery.hang_timeout || file.hang_timeout, JobFeature::hang_timeout},
      {options.recovery.checkpoints || file.checkpoints, JobFeature::checkpoints},
      {!options.post_mortem.empty(), JobFeature::post_mortem},
      {!options.after_job.fetch.empty() || !file.fetch.empty(), JobFeature::fetch},
      {options.check, JobFeature::check},
      {!options.per.empty() || file.per, JobFeature::rank_unit},
      {file.slurm.has_value(), JobFeature::slurm_settings},
      {file.kubernetes.has_value(), JobFeature::kubernetes_settings}};
  std::vector<JobFeature> asked;
  for (const auto& [is_asked, feature] : all)
    if (is_asked) asked.push_back(feature);
  return asked;
}

}  // namespace fastgpu::cli
