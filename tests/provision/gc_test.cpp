#include "provision/gc.hpp"

#include <doctest/doctest.h>

#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "provision/settle.hpp"
#include "state/lock.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using state::ClusterState;
using test::kDemo;
using test::WorkshopWorld;

TEST_SUITE_BEGIN("provision/gc");

TEST_CASE("gc removes what no cluster owns, and a dry run only names it") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.add_machine("deadbeef", "lonely");
  std::filesystem::create_directories(world.shop.store.directory() / "clusters" / "deadbeef");
  const auto seen = collect_garbage(world.tools, GcMode::look);
  CHECK(seen.size() == 2);
  CHECK(seen.at(0).what == "orphan instance lonely");
  CHECK(world.shop.provider.machines() == 3);
  CHECK(collect_garbage(world.tools, GcMode::remove).size() == 2);
  CHECK(world.shop.provider.machines() == 2);
  CHECK(collect_garbage(world.tools, GcMode::remove).empty());
}

TEST_CASE("gc names a provider that it could not ask if a cluster of it is on record") {
  WorkshopWorld world;
  world.shop.provider.not_asked = Error(ErrorKind::denied, "no credentials found");
  CHECK(collect_garbage(world.tools, GcMode::look).empty());
  world.create();
  for (const GcMode mode : {GcMode::look, GcMode::remove}) {
    const auto seen = collect_garbage(world.tools, mode);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].cluster == "demo");
    CHECK(seen[0].what == "looking for orphans of provider local");
    REQUIRE_FALSE(seen[0].outcome.ok());
    CHECK(seen[0].outcome.error().kind() == ErrorKind::denied);
  }
}

TEST_CASE("gc reports each place that it asks, also if the place does not answer") {
  WorkshopWorld world;
  std::vector<std::string> wanted;
  for (const ProviderInfo& provider : provider_table()) {
    wanted.push_back("> looking for orphans of provider " + std::string(provider.name));
    wanted.emplace_back("<");
  }
  for (const GcMode mode : {GcMode::look, GcMode::remove}) {
    for (const bool is_silent : {false, true}) {
      CAPTURE(is_silent);
      world.shop.events.questions.clear();
      world.shop.provider.unlisted.reset();
      if (is_silent) world.shop.provider.unlisted = Error(ErrorKind::transient, "no answer");
      const auto seen = collect_garbage(world.tools, mode);
      CHECK(seen.size() == (is_silent ? 1 : 0));
      CHECK(world.shop.events.questions == wanted);
    }
  }
}

TEST_CASE("gc leaves a cluster alone that somebody is working on") {
  WorkshopWorld world;
  ClusterView view = world.create();
  view.cluster.state = ClusterState::creating;
  world.shop.store.update_cluster(view.cluster);
  world.shop.store.open_intent({.id = {},
                                .cluster = view.cluster.id,
                                .action = "create-cluster",
                                .subject = "demo",
                                .token = {},
                                .detail = {}});
  {
    const auto lock = state::ClusterLock::try_lock(world.shop.store, kDemo);
    CHECK(collect_garbage(world.tools, GcMode::remove).empty());
    CHECK(world.shop.provider.machines() == 2);
  }
  CHECK(settle(world.tools).empty());
  CHECK(world.shop.provider.machines() == 2);
  CHECK(collect_garbage(world.tools, GcMode::remove).size() == 1);
  world.check_nothing_left();
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
