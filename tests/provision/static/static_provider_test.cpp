#include "provision/providers/static/static_provider.hpp"

#include <doctest/doctest.h>

#include <map>

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
          .provider_spec = state::StaticSpec{hosts}};
}

state::Node node_at(int index) {
  return {.index = index, .name = {"demo-" + std::to_string(index)}, .user = "root", .slots = 2};
}

/// Hosts that note what is asked of them.
class FakeAccess final : public HostAccess {
 public:
  Identities check(const state::Cluster&, std::span<const HostLogin> logins,
                   const Cancel&) override {
    return identities_of(answer("check", logins));
  }
  Identities identify(const state::Cluster&, std::span<const HostLogin> logins,
                      const Cancel&) override {
    return identities_of(answer("identify", logins));
  }
  Outcomes open(const state::Cluster&, std::span<const HostLogin> logins,
                const std::string& public_key, const Cancel&) override {
    return answer("open for " + public_key, logins);
  }
  Outcomes close(const state::Cluster&, std::span<const HostLogin> logins) override {
    return answer("close", logins);
  }

  std::vector<std::string> calls;
  std::optional<Error> failure;
  std::map<std::string, std::string> identities;  ///< By the nodes' names.

 private:
  Identities identities_of(const Outcomes& outcomes) {
    Identities answers;
    for (const auto& outcome : outcomes) {
      if (outcome.ok())
        answers.push_back({outcome.host, HostIdentity{identities[outcome.host.value]}});
      else
        answers.push_back({outcome.host, outcome.error()});
    }
    return answers;
  }
  Outcomes answer(const std::string& call, std::span<const HostLogin> logins) {
    Outcomes outcomes;
    for (const HostLogin& login : logins) {
      calls.push_back(call + ": " + login.node.name.value + " " + login.node.address + " " +
                      login.mark);
      outcomes.push_back({login.node.name, Granted{}});
      if (failure) outcomes.back().outcome = *failure;
    }
    return outcomes;
  }
};

struct StaticPlace {
  FakeAccess access;
  StaticProvider provider{access};
  state::Cluster cluster = cluster_of(sample_hosts());
  Cancel cancel;
};

TEST_SUITE_BEGIN("provision/static");

TEST_CASE("a node is what the file says of its host, and the cluster's where it says nothing") {
  const StaticPlace place;
  state::Node alpha = node_at(0);
  place.provider.describe_node(place.cluster, alpha);
  CHECK(alpha.name.value == "alpha");
  CHECK(alpha.user == "ada");
  CHECK(alpha.slots == 8);
  CHECK(alpha.identity_file == "/keys/a");
  CHECK(alpha.host_keys == std::vector<std::string>{"ssh-ed25519 AAAA"});
  REQUIRE(alpha.jumps.size() == 1);
  CHECK(alpha.jumps[0].user == "bob");
  state::Node other = node_at(1);
  place.provider.describe_node(place.cluster, other);
  CHECK(other.name.value == "demo-1");
  CHECK(other.user == "root");
  CHECK(other.slots == 2);
}

TEST_CASE("a host without a known key is refused before anything is made") {
  std::vector<StaticHost> hosts = sample_hosts();
  hosts[1].host_keys.clear();
  state::Node node = node_at(1);
  const StaticPlace place;
  const Error e = failure_of([&] { place.provider.describe_node(cluster_of(hosts), node); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()).find("--accept-host-keys") != std::string::npos);
}

TEST_CASE("a node for which no host is listed is refused") {
  const StaticPlace place;
  state::Node node = node_at(2);
  const Error e = failure_of([&] { place.provider.describe_node(place.cluster, node); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("2 listed hosts") != std::string::npos);
}

TEST_CASE("hosts are adopted where they are, the cluster's key let in, and listed again") {
  StaticPlace place;
  std::vector<NodeRequest> requests(1);
  requests[0].name = {"alpha"};
  requests[0].token = "t";
  requests[0].authorized_key = "ssh-ed25519 KEY";
  const auto created = place.provider.create(place.cluster, requests, place.cancel);
  CHECK(place.access.calls ==
        std::vector<std::string>{"open for ssh-ed25519 KEY: alpha 10.0.0.1 fastgpu-0badcafe-0"});
  REQUIRE(created.at(0).ok());
  CHECK(created[0].value().address == "10.0.0.1");
  CHECK(created[0].value().port == 2222);
  CHECK(created[0].value().token == "t");
  const auto listed = place.provider.list(place.cluster, place.cancel);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].id == created[0].value().id);
  CHECK(listed[1].state == InstanceState::running);
}

TEST_CASE("a host that lets nobody in is a failure before anything is written down") {
  StaticPlace place;
  const std::vector<state::Node> nodes = {node_at(0), node_at(1)};
  place.provider.check_nodes(place.cluster, nodes, {}, place.cancel);
  CHECK(place.access.calls.size() == 2);
  place.access.failure = Error(ErrorKind::denied, "alpha: refused");
  const Error e =
      failure_of([&] { place.provider.check_nodes(place.cluster, nodes, {}, place.cancel); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()) == "logging in: alpha: refused (and so demo-1)");
}

TEST_CASE("two names of one host are refused with both names") {
  StaticPlace place;
  const std::vector<state::Node> nodes = {node_at(0), node_at(1)};
  place.access.identities = {{"alpha", "boot 1"}, {"demo-1", "boot 1"}};
  const Error e =
      failure_of([&] { place.provider.check_nodes(place.cluster, nodes, {}, place.cancel); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).starts_with(
      "hosts alpha ada@10.0.0.1 port 2222 and 10.0.0.2 port 22 are the same machine"));
}

TEST_CASE("a further host is compared with the nodes that are there") {
  StaticPlace place;
  const std::vector<state::Node> present = {node_at(0)};
  const std::vector<state::Node> added = {node_at(1)};
  place.access.identities = {{"alpha", "boot 1"}, {"demo-1", "boot 1"}};
  const Error e =
      failure_of([&] { place.provider.check_nodes(place.cluster, added, present, place.cancel); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(place.access.calls ==
        std::vector<std::string>{"check: demo-1 10.0.0.2 fastgpu-0badcafe-1",
                                 "identify: alpha 10.0.0.1 fastgpu-0badcafe-0"});
}

TEST_CASE("hosts that differ, or that have no identity, are accepted") {
  StaticPlace place;
  const std::vector<state::Node> nodes = {node_at(0), node_at(1)};
  place.access.identities = {{"alpha", "boot 1"}, {"demo-1", "boot 2"}};
  place.provider.check_nodes(place.cluster, nodes, {}, place.cancel);
  place.access.identities.clear();
  place.provider.check_nodes(place.cluster, nodes, {}, place.cancel);
}

TEST_CASE("a host that does not answer is forgotten with a word on what stays there") {
  StaticPlace place;
  place.access.failure = Error(ErrorKind::transient, "alpha: connection refused");
  const std::vector<state::Node> nodes = {node_at(0)};
  const Instance gone = place.provider.destroy(place.cluster, nodes).at(0).value();
  CHECK(gone.state == InstanceState::gone);
  CHECK(gone.left_behind.find("fastgpu-0badcafe-0") != std::string::npos);
  CHECK(gone.left_behind.find("connection refused") != std::string::npos);
}

TEST_CASE("further nodes are listed hosts that are none, also those that were once") {
  const StaticPlace place;
  CHECK(place.provider.new_indexes(place.cluster, {1}, 1) == std::vector<int>{0});
  const Error e =
      failure_of([&] { static_cast<void>(place.provider.new_indexes(place.cluster, {1}, 2)); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).find("cannot have 3 nodes: its file listed 2 hosts") !=
        std::string::npos);
}

TEST_CASE("another list of hosts is another cluster, another way in at first is not") {
  const StaticPlace place;
  std::vector<StaticHost> hosts = sample_hosts();
  hosts[0].identity = "/keys/b";
  CHECK(place.provider.difference(place.cluster, state::StaticSpec{hosts}).empty());
  hosts[1].address = "10.0.0.3";
  CHECK(place.provider.difference(place.cluster, state::StaticSpec{hosts}) ==
        "with host 10.0.0.2 port 22, not 10.0.0.3 port 22");
  hosts = sample_hosts();
  hosts[0].host_keys = {"ssh-ed25519 ZZZZ"};
  CHECK(place.provider.difference(place.cluster, state::StaticSpec{hosts}).find("host key") !=
        std::string::npos);
  hosts.pop_back();
  hosts[0] = sample_hosts()[0];
  CHECK(place.provider.difference(place.cluster, state::StaticSpec{hosts}) ==
        "made of 2 listed hosts, not 1");
}

TEST_CASE("a static cluster cannot be stopped or started, and can be forgotten") {
  StaticPlace place;
  StaticProvider& provider = place.provider;
  const state::Cluster& cluster = place.cluster;
  const Cancel& cancel = place.cancel;
  const Error e = failure_of([&] { provider.stop(cluster, {}, cancel); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(std::string(e.what()).starts_with("a static cluster cannot be stopped"));
  CHECK(failure_of([&] { provider.start(cluster, {}, cancel); }).kind() == ErrorKind::usage);
  const std::vector<state::Node> nodes = {node_at(0)};
  CHECK(provider.destroy(cluster, nodes).at(0).value().state == InstanceState::gone);
  CHECK(place.access.calls == std::vector<std::string>{"close: alpha 10.0.0.1 fastgpu-0badcafe-0"});
}

TEST_CASE("identities are found from the file's directory and from home") {
  provision::ClusterFile file;
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
