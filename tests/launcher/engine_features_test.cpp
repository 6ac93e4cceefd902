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
