#include "launcher/engine_features.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

TEST_SUITE_BEGIN("launcher/engine_features");

TEST_CASE("a job is refused for the first part that its engine does not take, with a remedy") {
  const std::vector<JobFeature> asked = {JobFeature::hosts, JobFeature::sharing};
  const Error e = test::failure_of([&] { check_features(EngineKind::slurm, asked); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()) ==
        "engine slurm does not take --host: Slurm chooses the nodes: set slurm.partition and "
        "slurm.nodes");
}

TEST_CASE(
    "arrays, restarts, hangs, checkpoints, bundles, outputs, checks and parts of nodes are "
    "mpirun's alone") {
  for (const JobFeature feature :
       {JobFeature::array, JobFeature::retry, JobFeature::hang_timeout, JobFeature::checkpoints,
        JobFeature::post_mortem, JobFeature::fetch, JobFeature::check, JobFeature::rank_unit}) {
    CHECK(reason_against(EngineKind::mpirun, feature).empty());
    CHECK_FALSE(reason_against(EngineKind::slurm, feature).empty());
    CHECK_FALSE(reason_against(EngineKind::kubernetes, feature).empty());
  }
  const std::vector<JobFeature> asked = {JobFeature::hang_timeout};
  const Error e = test::failure_of([&] { check_features(EngineKind::slurm, asked); });
  CHECK(std::string(e.what()) ==
        "engine slurm does not take --hang-timeout: the nodes that Slurm chooses do not report "
        "idle ranks: set --timeout");
}

TEST_CASE("mpirun takes everything but the settings of other engines") {
  const std::vector<JobFeature> all = {
      JobFeature::hosts,   JobFeature::launcher, JobFeature::input,    JobFeature::crowding,
      JobFeature::sharing, JobFeature::priority, JobFeature::leftovers};
  CHECK_NOTHROW(check_features(EngineKind::mpirun, all));
  for (const JobFeature feature : all)
    CHECK_FALSE(reason_against(EngineKind::slurm, feature).empty());
  const std::vector<JobFeature> slurm = {JobFeature::slurm_settings};
  CHECK_NOTHROW(check_features(EngineKind::slurm, slurm));
  const Error e = test::failure_of([&] { check_features(EngineKind::mpirun, slurm); });
  CHECK(std::string(e.what()) == "engine mpirun does not take slurm: it is for --engine slurm");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
