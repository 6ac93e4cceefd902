// A cloud with three places, and the tools for creating a cluster in it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "../workshop.hpp"
#include "fakes/fake_cloud.hpp"
#include "provision/cloud/cloud_provider.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::provision {

/// The number of machines in each zone.
using Zones = std::map<std::string, int>;

/// A cloud with three places, and the tools for creating a cluster of four nodes in it.
struct PlacesBench {
  test::TempDirectory folder;
  test::Workshop shop{folder.path()};
  test::FakeCloud cloud;
  cloud::CloudProvider provider{cloud, cloud::Owner(folder.path() / "owners" / "fake"),
                                [](std::chrono::milliseconds, const Cancel&) {}, shop.cancel};
  Tools tools = shop.tools();
  ClusterSpec spec = test::sample_spec(4);

  PlacesBench() {
    tools.providers = [this](const std::string&) -> Provider& { return provider; };
    spec.provider = "aws";
    spec.provider_spec = cloud::CloudSpec{.request = {.type = "big"},
                                          .places = {{{"r1", "r1a"}, "big", Money{10.0, kUsd}},
                                                     {{"r1", "r1b"}, "big", Money{10.0, kUsd}},
                                                     {{"r2", "r2a"}, "big", Money{10.0, kUsd}}}};
  }

  ClusterView create() { return create_cluster(tools, spec, OnFailure::remove).view; }

  Zones alive() const {
    Zones count;
    for (const char* zone : {"r1a", "r1b", "r2a"})
      if (cloud.alive(zone) > 0) count[zone] = cloud.alive(zone);
    return count;
  }

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& cluster : shop.store.clusters())
      for (const auto& node : shop.store.nodes(cluster.id))
        all.insert(node.name.value);
    return all;
  }
};

}  // namespace fastgpu::provision
