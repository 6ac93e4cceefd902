#include "provision/cloud/launch_order.hpp"

#include <doctest/doctest.h>

#include "provision/cloud/cloud_spec.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::failure_of;
using test::mentions;
using namespace std::chrono_literals;

state::Cluster sample_cluster(std::optional<Money> price = {}, std::optional<Money> most = {}) {
  state::Cluster cluster{.id = {"c1"}, .name = {"t"}, .provider = "fake", .user = "root"};
  cluster.provider_spec =
      CloudSpec{.request = {.type = "big", .max_price = most},
                .places = {{.site = {"r1", "r1a"}, .type = "big", .price_per_hour = price}}};
  cluster.network = CloudPlacement{.image = "image-1", .parts = {{"vpc", "vpc-1"}}};
  return cluster;
}

std::vector<NodeRequest> batch_of(std::initializer_list<bool> all_or_nothing) {
  std::vector<NodeRequest> batch;
  for (const bool is_whole : all_or_nothing)
    batch.push_back({.index = static_cast<int>(batch.size()) + 3,
                     .name = {"t-" + std::to_string(batch.size() + 3)},
                     .token = "token" + std::to_string(batch.size()),
                     .host_private_key = {},
                     .host_public_key = {},
                     .authorized_key = {},
                     .all_or_nothing = is_whole});
  return batch;
}

TEST_CASE("a launch asks for a batch at the cluster's place, with the image on record") {
  const Launch launch = launch_of(sample_cluster(), "me", batch_of({false, false}), {});
  CHECK(launch.site == Site{"r1", "r1a"});
  CHECK(launch.image == "image-1");
  CHECK(launch.network.at("vpc") == "vpc-1");
  CHECK(launch.marks.owner == "me");
  CHECK(launch.first == 3);
  CHECK(launch.count == 2);
}

TEST_CASE("part of a batch is enough unless the cloud or a node wants all of it") {
  const auto least = [](std::initializer_list<bool> batch, bool has_partial_launch) {
    return launch_of(sample_cluster(), "me", batch_of(batch),
                     {.has_partial_launch = has_partial_launch})
        .least;
  };
  CHECK(least({false, true}, true) == 1);
  CHECK(least({true, true}, true) == 2);
  CHECK(least({false, false}, false) == 2);
}

TEST_CASE("a cluster that is being created is launched again with the same times") {
  state::Cluster cluster = sample_cluster();
  cluster.state = state::ClusterState::creating;
  cluster.created = std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now()) - 7h;
  cluster.guards = Guards{.max_life = 8h};
  const Launch launch = launch_of(cluster, "me", batch_of({false}), {});
  REQUIRE(launch.release_at);
  CHECK(*launch.release_at == cluster.created + 8h);
}

TEST_CASE("a limit on the price without a currency is in that of the place's price, or refused") {
  const auto limit = [](const Money& price, const Money& most) {
    return launch_of(sample_cluster(price, most), "me", batch_of({false}), {}).max_price;
  };
  CHECK(limit({1, kUsd}, {2, kUsd}) == Money{2, kUsd});
  const Error e = failure_of([&] { limit({7, kCny}, {2, kUsd}); });
  CHECK(e.kind() == ErrorKind::local);
  CHECK(mentions(e, "another currency"));
}

}  // namespace
}  // namespace fastgpu::provision::cloud
