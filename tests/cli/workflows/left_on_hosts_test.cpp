#include "cli/workflows/left_on_hosts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "envs/environments/record.hpp"
#include "fakes/hosts_context.hpp"
#include "state/directory.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::HostsContext;

/// A cluster of the hosts one and two with two environments, of which train is active.
struct Hosts {
  explicit Hosts(const std::string& provider = "static")
      : ui(out, err, {}, [] { return std::string(); }), context(ui, cancel) {
    context.set_state_directory(directory.path());
    cluster = {.id = {"0a1b2c3d"},
               .name = {"lab"},
               .provider = provider,
               .state = state::ClusterState::running,
               .user = "ann"};
    cluster.provider_spec = state::StaticSpec{.hosts = {{}, {}}};
    if (provider == "local") cluster.provider_spec = state::LocalSpec{};
    context.store().insert_cluster(cluster);
    for (int i = 0; i < 2; ++i)
      context.store().put_node({.cluster = cluster.id,
                                .index = i,
                                .name = {i == 0 ? "one" : "two"},
                                .state = state::NodeState::running,
                                .address = "192.0.2." + std::to_string(i + 1),
                                .user = "ann"});
    const auto key = state::identity_file(directory.path(), cluster.id);
    std::filesystem::create_directories(key.parent_path());
    state::write_private_file(key, "a key");
    envs::EnvironmentsRecord record{
        .active = "train",
        .prefix = {{"train", "/home/ann/.fastgpu/envs"}, {"infer", "/srv/envs"}},
        .used_prefixes = {"/home/ann/.fastgpu/envs", "/srv/envs"}};
    envs::write_record(state::cluster_directory(directory.path(), cluster.id), record);
  }

  std::vector<state::Node> nodes() { return context.store().nodes(cluster.id); }

  fastgpu::test::TempDirectory directory;
  Cancel cancel;
  StringSink out;
  StringSink err;
  Ui ui;
  HostsContext context;
  state::Cluster cluster;
};

TEST_SUITE_BEGIN("cli/left_on_hosts");

TEST_CASE("hosts that leave lose the active environment of their logins") {
  Hosts hosts;
  hosts.context.silent_host = "two";

  deactivate_on_leaving(hosts.context, hosts.cluster, hosts.nodes());

  REQUIRE_FALSE(hosts.context.asked.empty());
  CHECK(hosts.context.asked.front().find("env-deactivate /home/ann/.fastgpu/envs") !=
        std::string::npos);
  CHECK(hosts.err.text.find("two: connection timed out; logins on two still get environment "
                            "train: remove the lines of fastgpu") != std::string::npos);
  CHECK(hosts.err.text.find("logins on one") == std::string::npos);
}

TEST_CASE("machines that go, and clusters without an active environment, are not asked") {
  Hosts machines("local");
  deactivate_on_leaving(machines.context, machines.cluster, machines.nodes());
  CHECK(machines.context.asked.empty());
  CHECK(rest_on_hosts(machines.context, machines.cluster, machines.nodes()).empty());

  Hosts hosts;
  envs::write_record(state::cluster_directory(hosts.directory.path(), hosts.cluster.id), {});
  deactivate_on_leaving(hosts.context, hosts.cluster, hosts.nodes());
  CHECK(hosts.context.asked.empty());
}

TEST_CASE("what stays on hosts is named with the command that removes it") {
  Hosts hosts;
  CHECK(rest_on_hosts(hosts.context, hosts.cluster, hosts.nodes()) ==
        "one,two keep environments infer, train, and fastgpu's agent and the files of jobs; to "
        "remove them from each, unless another cluster uses them: rm -rf ~/.fastgpu "
        "/var/tmp/fastgpu-$(id -u)* /srv/envs");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
