#include "launcher/engine_features.hpp"

#include <array>
#include <string>

#include "base/error.hpp"
#include "state/words.hpp"

namespace fastgpu::launcher {
namespace {

struct FeatureRow {
  JobFeature feature;
  std::string_view name;
  // Reasons against it; empty where the engine has it.
  std::string_view mpirun;
  std::string_view slurm;
  std::string_view kubernetes;
};

constexpr std::array kFeatures = {
    FeatureRow{JobFeature::hosts, "--host", "",
               "Slurm chooses the nodes: set slurm.partition and slurm.nodes",
               "Kubernetes chooses the nodes: set kubernetes.workers"},
    FeatureRow{JobFeature::nodes, "--cluster NAME/NODES", "",
               "Slurm chooses the nodes: set slurm.nodes, or slurm.exclude for those to leave out",
               "Kubernetes chooses the nodes: set kubernetes.workers"},
    FeatureRow{JobFeature::launcher, "--launcher", "", "srun starts the ranks",
               "the mpirun of the image starts the ranks"},
    FeatureRow{JobFeature::input, "--stdin", "", "a job in Slurm's queue has no standard input",
               "pods have no standard input"},
    FeatureRow{JobFeature::crowding, "--oversubscribe", "",
               "the partition decides whether ranks share cores",
               "set kubernetes.workers and --npernode"},
    FeatureRow{JobFeature::sharing, "--share", "", "Slurm has the queue",
               "Kubernetes has the queue"},
    FeatureRow{JobFeature::priority, "--priority", "", "Slurm has the queue: set slurm.qos",
               "Kubernetes has the queue"},
    FeatureRow{JobFeature::leftovers, "--keep-processes", "",
               "Slurm ends all processes of a job with it", "pods end with all of their processes"},
    FeatureRow{JobFeature::on_full, "--on-full", "", "",
               "the logs of pods are on the disks of Kubernetes"},
    FeatureRow{JobFeature::keep_jobs, "--keep-jobs", "", "",
               "fastgpu has no folders on the nodes of pods"},
    FeatureRow{JobFeature::cluster, "--cluster", "", "",
               "the kubeconfig names the cluster: set kubernetes.context"},
    FeatureRow{JobFeature::sync, "--sync", "", "", "build the files into the image"},
    FeatureRow{JobFeature::secrets, "--secret", "", "",
               "variables are readable in the MPIJob: let the image read a mounted secret"},
    FeatureRow{JobFeature::environment, "--environment", "", "",
               "build the environment into the image"},
    FeatureRow{JobFeature::array, "--array", "",
               "each of its jobs would need a place in Slurm's queue: start the jobs one by one",
               "each of its jobs would need an MPIJob of its own: start the jobs one by one"},
    FeatureRow{JobFeature::retry, "--retry", "",
               "Slurm starts a job once: start it again after fastgpu wait job",
               "an MPIJob is started once: start it again after fastgpu wait job"},
    FeatureRow{JobFeature::hang_timeout, "--hang-timeout", "",
               "the nodes that Slurm chooses do not report idle ranks: set --timeout",
               "pods do not report idle ranks: set --timeout"},
    FeatureRow{JobFeature::checkpoints, "--checkpoints", "",
               "give the program a directory of the shared home by --env",
               "give the program a mounted volume by --env"},
    FeatureRow{JobFeature::post_mortem, "--post-mortem", "",
               "fastgpu does not reach the nodes that Slurm chooses: use fastgpu report",
               "fastgpu does not reach the nodes of pods: use fastgpu report"},
    FeatureRow{JobFeature::fetch, "--fetch", "",
               "fastgpu does not reach the nodes that Slurm chooses: copy from the shared home by "
               "fastgpu cp",
               "fastgpu does not reach the nodes of pods: write to a mounted volume"},
    FeatureRow{JobFeature::check, "--check", "", "Slurm chooses the nodes",
               "Kubernetes chooses the nodes"},
    FeatureRow{JobFeature::rank_unit, "--per", "", "Slurm binds the ranks: set slurm.cpus",
               "Kubernetes chooses the cores: set kubernetes.cpus"},
    FeatureRow{JobFeature::slurm_settings, "slurm", "it is for --engine slurm", "",
               "it is for --engine slurm"},
    FeatureRow{JobFeature::kubernetes_settings, "kubernetes", "it is for --engine kubernetes",
               "it is for --engine kubernetes", ""},
};

}  // namespace

std::string_view reason_against(EngineKind engine, JobFeature feature) {
  for (const FeatureRow& row : kFeatures) {
    if (row.feature != feature) continue;
    switch (engine) {
      case EngineKind::mpirun:
        return row.mpirun;
      case EngineKind::slurm:
        return row.slurm;
      case EngineKind::kubernetes:
        return row.kubernetes;
    }
  }
  return "";
}

void check_features(EngineKind engine, std::span<const JobFeature> asked) {
  for (const JobFeature feature : asked) {
    const std::string_view reason = reason_against(engine, feature);
    if (reason.empty()) continue;
    for (const FeatureRow& row : kFeatures)
      if (row.feature == feature)
        throw Error(ErrorKind::usage, "engine " + std::string(to_string(engine)) +
                                          " does not take " + std::string(row.name) + ": " +
                                          std::string(reason));
  }
}

}  // namespace fastgpu::launcher
