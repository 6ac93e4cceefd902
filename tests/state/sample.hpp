// Records with something in every field.
#pragma once

#include <string>

#include "state/model.hpp"

namespace fastgpu::test {

inline state::Cluster sample_cluster(const std::string& name = "demo",
                                     const std::string& id = "0badcafe") {
  return {.id = {id},
          .name = {name},
          .provider = "local",
          .state = state::ClusterState::creating,
          .slots = 4,
          .user = "root",
          .provider_spec = state::LocalSpec{.link_rate = BitRate{1'000'000'000}},
          .network = state::HostNetwork{"10.7.0.0/24"},
          .created = state::TimePoint(std::chrono::milliseconds(1'700'000'000'123))};
}

inline state::Node sample_node(int index, const std::string& cluster = "0badcafe") {
  return {.cluster = {cluster},
          .index = index,
          .name = {"demo-" + std::to_string(index)},
          .state = state::NodeState::running,
          .token = "token-" + std::to_string(index),
          .instance_id = "i-" + std::to_string(index),
          .address = "fd00::1",
          .port = 2222,
          .private_address = "10.7.0.2",
          .user = "ada",
          .slots = 3,
          .identity_file = "/home/ada/key",
          .host_keys = {"ssh-ed25519 AAAA", "ssh-ed25519 BBBB"},
          .jumps = {{"gate.example", 2200, "eve", {"ssh-ed25519 CCCC"}}}};
}

inline state::Intent sample_intent(const std::string& subject) {
  return {
      .id = {}, .cluster = {"0badcafe"}, .action = "create-node", .subject = subject, .token = "t"};
}

}  // namespace fastgpu::test
