// Static clusters of real sshd processes, from the file to a node that answers.
#include <doctest/doctest.h>

#include "provision/gc.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers/static/hosts.hpp"
#include "provision/providers/static/static_provider.hpp"
#include "ssh/reachable.hpp"
#include "ssh/ssh_client.hpp"
#include "support/failure.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu {
namespace {

using provision::OnFailure;
using provision::PlanKind;
using provision::Reached;
using test::failure_of;

class SteadyClock final : public Clock {
 public:
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  void sleep(std::chrono::milliseconds duration) override { std::this_thread::sleep_for(duration); }
};

class RealKeys final : public provision::KeyMaker {
 public:
  KeyPair make(std::string_view comment) override { return ssh::generate_key_pair(comment); }
};

class RealReachability final : public provision::Reachability {
 public:
  std::vector<HostResult<Reached>> wait(const state::Cluster& /*cluster*/,
                                        std::span<const state::Node> nodes,
                                        Clock::time_point /*deadline*/, const Cancel& cancel,
                                        const std::function<void()>& /*look*/) override {
    std::vector<ssh::Host> hosts;
    for (const state::Node& node : nodes)
      hosts.push_back({.name = node.name,
                       .address = node.address,
                       .port = node.port,
                       .user = node.user,
                       .identity = node.identity_file,
                       .host_keys = node.host_keys});
    ssh::SshClient client;
    const ssh::ReachOptions options{.limit = std::chrono::seconds(5),
                                    .denied_limit = std::chrono::milliseconds(0)};
    std::vector<HostResult<Reached>> results;
    for (const auto& result : ssh::wait_until_reachable(client, hosts, options, cancel)) {
      if (result.ok())
        results.push_back({result.host, Reached{}});
      else
        results.push_back({result.host, result.error()});
    }
    return results;
  }
};

/// The hosts let us in already, and go on doing so.
class GrantingAccess final : public provision::HostAccess {
 public:
  Identities check(const state::Cluster&, std::span<const provision::HostLogin> logins,
                   const Cancel&) override {
    return unknown(logins);
  }
  Identities identify(const state::Cluster&, std::span<const provision::HostLogin> logins,
                      const Cancel&) override {
    return unknown(logins);
  }
  Outcomes open(const state::Cluster&, std::span<const provision::HostLogin> logins,
                const std::string&, const Cancel&) override {
    return all(logins);
  }
  Outcomes close(const state::Cluster&, std::span<const provision::HostLogin> logins) override {
    return all(logins);
  }

 private:
  static Identities unknown(std::span<const provision::HostLogin> logins) {
    Identities identities;
    for (const provision::HostLogin& login : logins)
      identities.push_back({login.node.name, provision::HostIdentity{}});
    return identities;
  }
  static Outcomes all(std::span<const provision::HostLogin> logins) {
    Outcomes outcomes;
    for (const provision::HostLogin& login : logins)
      outcomes.push_back({login.node.name, provision::Granted{}});
    return outcomes;
  }
};

std::string entry_for(const ssh::Host& host, const std::string& host_key) {
  return "  - name: " + host.name.value + "\n    address: " + host.address +
         "\n    port: " + std::to_string(host.port) + "\n    user: " + host.user +
         "\n    identity: " + host.identity.string() + "\n    host_key: " + host_key + "\n";
}

/// One user's state directory, and what works on it.
struct Desk {
  test::TempDirectory place;
  state::Store store{place.path() / "state"};
  GrantingAccess access;
  provision::StaticProvider provider{access};
  RealKeys keys;
  RealReachability reachability;
  provision::ClusterEvents events;
  SteadyClock clock;
  Cancel cancel;
  provision::Tools tools{
      .store = store,
      .providers = [this](const std::string&) -> provision::Provider& { return provider; },
      .keys = keys,
      .reachability = reachability,
      .events = events,
      .clock = clock,
      .cancel = cancel};

  provision::CreateResult create(const std::string& entries) {
    const auto document = config::Document::parse("hosts:\n" + entries, "cluster.yaml");
    const auto hosts =
        provision::static_hosts(provision::read_cluster_file(document), place.path(), "/root");
    const provision::ClusterSpec spec{.name = {"lab"},
                                      .provider = "static",
                                      .nodes = static_cast<int>(hosts.size()),
                                      .provider_spec = state::StaticSpec{hosts}};
    return provision::create_cluster(tools, spec, OnFailure::remove);
  }
};

TEST_SUITE_BEGIN("integration/static");

TEST_CASE("hosts of a file become a cluster, are scaled down, forgotten, and go on running") {
  const test::Sshd first;
  const test::Sshd second;
  const std::string entries = entry_for(first.host("one"), first.host_key()) +
                              entry_for(second.host("two"), second.host_key());
  Desk desk;
  const auto result = desk.create(entries);
  CHECK(result.kind == PlanKind::create);
  CHECK(result.view.cluster.state == state::ClusterState::running);
  CHECK(result.view.nodes.at(1).name.value == "two");
  CHECK(desk.create(entries).kind == PlanKind::unchanged);
  CHECK(provision::refresh_cluster(desk.tools, {"lab"}).cluster.state ==
        state::ClusterState::running);
  CHECK(provision::scale_cluster(desk.tools, {"lab"}, 1).nodes.size() == 1);
  provision::delete_cluster(desk.tools, {"lab"});
  CHECK(desk.store.clusters().empty());
  CHECK(provision::collect_garbage(desk.tools, provision::GcMode::remove).empty());
  CHECK(desk.create(entries).kind == PlanKind::create);
}

TEST_CASE("a host that shows another key than the file's is refused, and nothing is left") {
  const test::Sshd sshd;
  const std::string other = ssh::generate_key_pair("other").public_key;
  Desk desk;
  const Error e = failure_of([&] { desk.create(entry_for(sshd.host("one"), other)); });
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()).find("one") != std::string::npos);
  CHECK(desk.store.clusters().empty());
  CHECK(desk.store.open_intents().empty());
}

TEST_CASE("a static cluster cannot be stopped, and runs on") {
  const test::Sshd sshd;
  Desk desk;
  desk.create(entry_for(sshd.host("one"), sshd.host_key()));
  const Error e = failure_of([&] { provision::stop_cluster(desk.tools, {"lab"}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(desk.store.clusters().at(0).state == state::ClusterState::running);
  CHECK(desk.store.open_intents().empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
