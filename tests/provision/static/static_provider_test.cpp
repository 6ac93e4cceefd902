#include "provision/providers/static/static_provider.hpp"

#include <doctest/doctest.h>

#include "provision/providers/static/hosts.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;

std::vector<StaticHost> sample_hosts() {
  return {{.name = "alpha",
           .address = "10.0.0.1",
           .port = 2222,
           .user = "ada",
           .slots = 8,
           .identity = "/keys/a",
           .host_keys = {"ssh-ed25519 AAAA"},
           .jumps = {{"gate", 22, "bob", {"ssh-ed25519 BBBB"}}}},
          {.address = "10.0.0.2", .host_keys = {"ssh-ed25519 CCCC"}}};
}

state::Cluster cluster_of(const std::vector<StaticHost>& hosts) {
  return {.id = {"0badcafe"},
          .name = {"demo"},
          .provider = "static",
          .slots = 2,
          .user = "root",
          .spec_json = to_spec_json(hosts)};
}

state::Node node_at(int index) {
  return {.index = index, .name = {"demo-" + std::to_string(index)}, .user = "root", .slots = 2};
}

TEST_SUITE_BEGIN("provision/static");

TEST_CASE("a node is what the file says of its host, and the cluster's where it says nothing") {
  const StaticProvider provider;
  const state::Cluster cluster = cluster_of(sample_hosts());
  state::Node alpha = node_at(0);
  provider.describe_node(cluster, alpha);
  CHECK(alpha.name.value == "alpha");
  CHECK(alpha.user == "ada");
  CHECK(alpha.slots == 8);
  CHECK(alpha.identity_file == "/keys/a");
  CHECK(alpha.host_keys == std::vector<std::string>{"ssh-ed25519 AAAA"});
  REQUIRE(alpha.jumps.size() == 1);
  CHECK(alpha.jumps[0].user == "bob");
  state::Node other = node_at(1);
  provider.describe_node(cluster, other);
  CHECK(other.name.value == "demo-1");
  CHECK(other.user == "root");
  CHECK(other.slots == 2);
}

TEST_CASE("a host without a known key is refused before anything is made") {
  std::vector<StaticHost> hosts = sample_hosts();
  hosts[1].host_keys.clear();
  state::Node node = node_at(1);
  const Error e = failure_of([&] { StaticProvider().describe_node(cluster_of(hosts), node); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()).find("--accept-host-keys") != std::string::npos);
}

TEST_CASE("a node for which no host is listed is refused") {
  state::Node node = node_at(2);
  const Error e =
      failure_of([&] { StaticProvider().describe_node(cluster_of(sample_hosts()), node); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("2 listed hosts") != std::string::npos);
}

TEST_CASE("hosts are adopted where they are, and listed again") {
  StaticProvider provider;
  const state::Cluster cluster = cluster_of(sample_hosts());
  const Cancel cancel;
  std::vector<NodeRequest> requests(1);
  requests[0].name = {"alpha"};
  requests[0].token = "t";
  const auto created = provider.create(cluster, requests, cancel);
  REQUIRE(created.at(0).ok());
  CHECK(created[0].value().address == "10.0.0.1");
  CHECK(created[0].value().port == 2222);
  CHECK(created[0].value().token == "t");
  const auto listed = provider.list(cluster);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].id == created[0].value().id);
  CHECK(listed[1].state == InstanceState::running);
}

TEST_CASE("a static cluster cannot be stopped or started, and can be forgotten") {
  StaticProvider provider;
  const state::Cluster cluster = cluster_of(sample_hosts());
  const Cancel cancel;
  const Error e = failure_of([&] { provider.stop(cluster, {}, cancel); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).starts_with("a static cluster cannot be stopped"));
  CHECK(failure_of([&] { provider.start(cluster, {}, cancel); }).kind() == ErrorKind::usage);
  const std::vector<state::Node> nodes = {node_at(0)};
  CHECK(provider.destroy(cluster, nodes).at(0).value().state == InstanceState::gone);
}

TEST_CASE("hosts survive being kept as text, and other text is refused") {
  const auto hosts = parse_spec_json(cluster_of(sample_hosts()));
  REQUIRE(hosts.size() == 2);
  CHECK(hosts[0].jumps.at(0).host_keys == sample_hosts()[0].jumps[0].host_keys);
  CHECK(hosts[0].slots == 8);
  CHECK_FALSE(hosts[1].slots);
  state::Cluster broken = cluster_of({});
  for (const char* text : {"", "{}", "[]", R"({"hosts":[{}]})"}) {
    broken.spec_json = text;
    CHECK(failure_of([&] { parse_spec_json(broken); }).kind() == ErrorKind::local);
  }
}

TEST_CASE("identities are found from the file's directory and from home") {
  config::ClusterFile file;
  file.hosts = {{.address = "a", .identity = "keys/id"},
                {.address = "b", .identity = "~/.ssh/id"},
                {.address = "c", .identity = "/abs"},
                {.address = "d"}};
  const auto hosts = static_hosts(file, "/project", "/home/ada");
  CHECK(hosts[0].identity == "/project/keys/id");
  CHECK(hosts[1].identity == "/home/ada/.ssh/id");
  CHECK(hosts[2].identity == "/abs");
  CHECK(hosts[3].identity.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
