#include "provision/cloud/gradient_defaults.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "comm/gradients/gradient_settings.hpp"
#include "comm/gradients/tuner.hpp"
#include "provision/cloud/catalogue.hpp"

namespace fastgpu::provision::cloud {
namespace {

CloudSpec spec_for(bool rdma) {
  CloudSpec spec;
  spec.rdma = rdma;
  return spec;
}

double gbit_of(std::string_view cloud, std::string_view type, bool rdma) {
  Place place;
  place.type = type;
  return usable_gbit(cloud, spec_for(rdma), place);
}

/// Returns the time of a step's communication as the library's tuner expects it, in seconds.
double expected_time(double gbit, Bytes bucket, int lanes) {
  const comm::NetworkLink link{.latency = comm::Seconds(50e-6),
                               .flow = comm::gigabits(gbit),
                               .shared = comm::gigabits(gbit)};
  const comm::SearchSpace space{.usual = {}, .most_streams = 16, .gradient_bytes = 100e6};
  for (const comm::Prediction& one : comm::predictions(space, link))
    if (one.setting.bucket == bucket && one.setting.streams == lanes) return one.expected.count();
  FAIL("the tuner does not know this setting");
  return 0;
}

double best_time(double gbit) {
  const comm::NetworkLink link{.latency = comm::Seconds(50e-6),
                               .flow = comm::gigabits(gbit),
                               .shared = comm::gigabits(gbit)};
  const comm::SearchSpace space{.usual = {}, .most_streams = 16, .gradient_bytes = 100e6};
  return comm::predictions(space, link).front().expected.count();
}

TEST_CASE("the rate that jobs can use is that of RDMA where the cluster has it") {
  CHECK(gbit_of("aws", "p5.48xlarge", true) == 3'200);
  CHECK(gbit_of("aws", "p5.48xlarge", false) == 100);
  CHECK(gbit_of("aws", "g4dn.xlarge", true) == 25);
  CHECK(gbit_of("alibaba", "ecs.ebmgn8is.32xlarge", true) == 160);
  CHECK(gbit_of("aws", "x9.unheard-of", true) == 0);
}

TEST_CASE("the defaults of every instance type are near the best of the tuner's model") {
  const comm::GradientSettings usual;
  for (const CatalogueRow& row : catalogue())
    for (const bool rdma : {false, true}) {
      const double gbit = gbit_of(row.cloud, row.type, rdma);
      if (gbit == 0) continue;
      CAPTURE(row.type);
      CAPTURE(gbit);
      const GradientDefaults defaults =
          gradient_defaults(gbit).value_or(GradientDefaults{usual.bucket, usual.streams});
      CHECK(expected_time(gbit, defaults.bucket, defaults.lanes) <= 1.05 * best_time(gbit));
    }
}

TEST_CASE("a row is worth it: the library's own settings are slower there by a tenth or more") {
  const comm::GradientSettings usual;
  for (const double gbit : {400.0, 1'600.0, 3'200.0, 6'400.0}) {
    CAPTURE(gbit);
    const auto defaults = gradient_defaults(gbit);
    REQUIRE(defaults);
    CHECK(1.1 * expected_time(gbit, defaults->bucket, defaults->lanes) <
          expected_time(gbit, usual.bucket, usual.streams));
  }
  CHECK_FALSE(gradient_defaults(160));
  CHECK_FALSE(gradient_defaults(0));
}

}  // namespace
}  // namespace fastgpu::provision::cloud
