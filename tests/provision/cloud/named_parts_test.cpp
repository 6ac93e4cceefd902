#include "provision/cloud/named_parts.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::failure_of;
using test::FakeCloud;
using test::mentions;

/// A cloud in whose first region, the cheapest, nothing of the user exists.
struct TwoRegions {
  FakeCloud cloud;
  std::vector<Cloud*> clouds = {&cloud};
  RankedOffers ranked{.usable = {{.cloud = "fake", .site = {"r1", "r1a"}},
                                 {.cloud = "fake", .site = {"r1", "r1b"}},
                                 {.cloud = "fake", .site = {"r2", "r2a"}}}};

  TwoRegions() {
    cloud.bare_regions = {"r1"};
    cloud.vpcs = {"lab"};
  }

  RankedOffers with(const state::CloudSpec& spec) {
    return with_named_parts(ranked, clouds, spec, Cancel{});
  }
};

TEST_SUITE_BEGIN("provision/cloud/named_parts");

TEST_CASE_FIXTURE(TwoRegions, "places without what the user names are no places for a cluster") {
  const std::pair<state::CloudSpec, const char*> cases[] = {
      {{.image = "golden"}, "without image 'golden'"},
      {{.key_pairs = {"mine"}}, "without key pair 'mine'"},
      {{.vpc = "lab"}, "without network 'lab'"}};
  for (const auto& [spec, reason] : cases) {
    const RankedOffers found = with(spec);
    REQUIRE(found.usable.size() == 1);
    CHECK(found.usable[0].site.zone == "r2a");
    REQUIRE(found.unusable.size() == 2);
    CHECK(found.unusable[0].second == reason);
  }
}

TEST_CASE_FIXTURE(TwoRegions, "where nothing is named every place is as good as before") {
  CHECK(with({}).usable.size() == 3);
}

TEST_CASE_FIXTURE(TwoRegions, "what is nowhere is not found, and the cloud's words name it") {
  cloud.bare_regions = {"r1", "r2"};
  const Error e = failure_of([&] { with({.image = "golden"}); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(mentions(e, "there is no image 'golden' in r1"));
  CHECK(mentions(e, "; the same in r2"));
  CHECK(failure_of([&] { with({.image = "none"}); }).kind() == ErrorKind::not_found);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision::cloud
