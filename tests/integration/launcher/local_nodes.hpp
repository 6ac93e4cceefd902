// Two nodes made of this machine's namespaces, with sshd, for jobs that really cross nodes.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/mpirun_engine.hpp"
#include "provision/providers/local/local_provider.hpp"
#include "ssh/keys.hpp"
#include "ssh/ssh_client.hpp"

namespace fastgpu::test {

/// Made once for all tests of the program; gone with it.
class LocalNodes {
 public:
  explicit LocalNodes(int count) {
    std::filesystem::create_directories(root_);
    cluster_.id = {"4a0b" + suffix()};
    cluster_.name = {"jobs" + suffix()};
    cluster_.user = "root";
    const KeyPair user = ssh::generate_key_pair("test");
    key_ = user.private_key;
    const auto identity = root_ / "id_ed25519";
    std::ofstream(identity) << key_.reveal();
    std::filesystem::permissions(identity, std::filesystem::perms::owner_read);
    std::vector<provision::NodeRequest> requests;
    for (int i = 0; i < count; ++i)
      requests.push_back(request(i, user.public_key));
    provider_.prepare(cluster_, false);
    const Cancel never;
    for (const auto& made : provider_.create(cluster_, requests, never))
      add(made, requests, identity);
  }

  ~LocalNodes() {
    provider_.destroy(cluster_, state_);
    provider_.release(cluster_, {});
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

  const std::vector<launcher::ClusterNode>& nodes() const noexcept { return nodes_; }
  launcher::ClusterAccess access() const { return {cluster_.id.value, key_}; }

  /// Ends a node as a power failure would.
  void kill(std::size_t index) {
    const std::vector<state::Node> one = {state_.at(index)};
    provider_.destroy(cluster_, one);
  }

 private:
  static std::string suffix() { return std::to_string(10'000 + ::getpid() % 10'000).substr(1); }

  provision::NodeRequest request(int index, const std::string& authorized_key) const {
    const KeyPair host = ssh::generate_key_pair("host");
    return {.index = index,
            .name = {cluster_.name.value + "-" + std::to_string(index)},
            .token = "token-" + std::to_string(index),
            .host_private_key = host.private_key,
            .host_public_key = host.public_key,
            .authorized_key = authorized_key};
  }

  void add(const HostResult<provision::Instance>& made,
           const std::vector<provision::NodeRequest>& requests,
           const std::filesystem::path& identity) {
    if (!made.ok()) throw Error(made.error());
    const provision::Instance& instance = made.value();
    const auto& asked = requests.at(static_cast<std::size_t>(instance.index));
    launcher::ClusterNode node;
    node.host = {.name = asked.name,
                 .address = instance.address,
                 .port = instance.port,
                 .user = "root",
                 .identity = identity,
                 .host_keys = {asked.host_public_key}};
    node.peer = {
        .address = instance.private_address, .user = "root", .host_keys = {asked.host_public_key}};
    nodes_.push_back(node);
    state::Node remembered;
    remembered.cluster = cluster_.id;
    remembered.index = instance.index;
    remembered.name = asked.name;
    state_.push_back(remembered);
  }

  std::filesystem::path root_ = "/var/tmp/fastgpu-jobs-" + suffix();
  state::Cluster cluster_;
  Secret key_;
  provision::LocalProvider provider_{
      {.root = root_ / "local",
       .init_program =
           std::string(FASTGPU_BUILD_ROOT) + "/provision/providers/local/init/fastgpu-node-init"}};
  std::vector<launcher::ClusterNode> nodes_;
  std::vector<state::Node> state_;
};

}  // namespace fastgpu::test
