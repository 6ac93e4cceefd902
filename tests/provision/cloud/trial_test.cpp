#include "provision/cloud/trial.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"

namespace fastgpu::provision::cloud {
namespace {

CloudSpec spec_of_two_places() {
  CloudSpec spec;
  spec.places = {{.site = {"r1", "r1a"}, .type = "gpu.large"},
                 {.site = {"r2", "r2a"}, .type = "gpu.small"}};
  return spec;
}

TEST_SUITE_BEGIN("provision/cloud/trial");

TEST_CASE("the best place is tried, with as many machines as a launch takes") {
  test::FakeCloud cloud;
  CHECK(try_best_place(cloud, spec_of_two_places(), 250, Cancel{}) == TrialOutcome::accepted);
  REQUIRE(cloud.trials.size() == 1);
  CHECK(cloud.trials[0].site.zone == "r1a");
  CHECK(cloud.trials[0].type == "gpu.large");
  CHECK(cloud.trials[0].image == "image-1");
  CHECK(cloud.trials[0].count == 100);
  CHECK(cloud.launches.empty());
}

TEST_CASE("that a trial has passed is no failure, whatever the cloud's way to say it") {
  test::FakeCloud cloud;
  cloud.trial_failure = Failure{.kind = FailureKind::dry_run_passed, .code = "DryRunOperation"};
  CHECK(try_best_place(cloud, spec_of_two_places(), 1, Cancel{}) == TrialOutcome::accepted);
}

TEST_CASE("a right that lacks is told, a network that lacks is not") {
  test::FakeCloud cloud;
  cloud.trial_failure = Failure{.kind = FailureKind::permission, .code = "Forbidden.RAM"};
  CHECK_THROWS_WITH_AS(try_best_place(cloud, spec_of_two_places(), 1, Cancel{}),
                       doctest::Contains("launching gpu.large in r1a, as a trial: no permission"),
                       Error);
  cloud.trial_failure = Failure{.kind = FailureKind::invalid, .code = "MissingParameter"};
  CHECK(try_best_place(cloud, spec_of_two_places(), 1, Cancel{}) == TrialOutcome::untold);
  cloud.trial_failure = Failure{.kind = FailureKind::not_found, .code = "VPCIdNotSpecified"};
  CHECK(try_best_place(cloud, spec_of_two_places(), 1, Cancel{}) == TrialOutcome::untold);
}

TEST_CASE("an image or a key pair that is not there is not found before anything is launched") {
  test::FakeCloud cloud;
  CloudSpec spec = spec_of_two_places();
  spec.image = "none";
  CHECK_THROWS_AS(try_best_place(cloud, spec, 1, Cancel{}), Error);
  spec = spec_of_two_places();
  spec.key_pairs = {"unknown"};
  CHECK_THROWS_AS(try_best_place(cloud, spec, 1, Cancel{}), Error);
  CHECK(cloud.trials.empty());
}

TEST_CASE("a network of the user's that is not there is not found before anything is launched") {
  test::FakeCloud cloud;
  CloudSpec spec = spec_of_two_places();
  spec.vpc = "lab";
  CHECK_THROWS_WITH_AS(try_best_place(cloud, spec, 1, Cancel{}), "there is no VPC 'lab' in r1",
                       Error);
  CHECK(cloud.trials.empty());
  cloud.vpcs = {"lab"};
  CHECK(try_best_place(cloud, spec, 1, Cancel{}) == TrialOutcome::accepted);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
