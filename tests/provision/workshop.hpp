// Everything that an operation on a cluster needs, made of fakes in one directory.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fakes/fake_provider.hpp"
#include "provision/lifecycle.hpp"
#include "provision/tools.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::test {

inline const ClusterName kDemo{"demo"};

/// Time that passes only while somebody sleeps.
class FakeClock final : public Clock {
 public:
  time_point now() const noexcept override { return now_; }
  void sleep(std::chrono::milliseconds duration) override { now_ += duration; }

 private:
  time_point now_{};
};

class FakeKeys final : public provision::KeyMaker {
 public:
  KeyPair make(std::string_view comment) override {
    ++made;
    const std::string number = std::to_string(made) + " " + std::string(comment);
    return {Secret("private " + number), "ssh-ed25519 PUBLIC" + number};
  }
  int made = 0;
};

class FakeReachability final : public provision::Reachability, public provision::NodeSetup {
 public:
  std::vector<HostResult<provision::Reached>> wait(const state::Cluster& /*cluster*/,
                                                   std::span<const state::Node> nodes,
                                                   Clock::time_point /*deadline*/,
                                                   const Cancel& /*cancel*/,
                                                   const std::function<void()>& look) override {
    if (on_wait) on_wait();
    if (look && !failures.empty()) look();
    std::vector<HostResult<provision::Reached>> results;
    for (const state::Node& node : nodes) {
      const auto failure = failures.find(node.name.value);
      if (failure == failures.end())
        results.push_back({node.name, provision::Reached{}});
      else
        results.push_back({node.name, failure->second});
    }
    return results;
  }
  std::vector<HostResult<std::string>> make_host_keys(const state::Cluster& /*cluster*/,
                                                      std::span<const state::Node> nodes,
                                                      const Cancel& /*cancel*/) override {
    std::vector<HostResult<std::string>> results;
    for (const state::Node& node : nodes)
      results.push_back({node.name, "ssh-ed25519 OWN" + node.name.value});
    return results;
  }
  std::vector<HostResult<provision::Reached>> show_host_keys(const state::Cluster& cluster,
                                                             std::span<const state::Node> nodes,
                                                             const Cancel& cancel) override {
    return wait(cluster, nodes, {}, cancel, {});
  }
  std::vector<HostResult<provision::Reached>> attach_storage(const state::Cluster& cluster,
                                                             std::span<const state::Node> nodes,
                                                             const provision::Storage& storage,
                                                             const Cancel& cancel) override {
    for (const state::Node& node : nodes)
      storage_of[node.name.value] = storage;
    ++attach_calls;
    return wait(cluster, nodes, {}, cancel, {});
  }
  std::map<std::string, Error> failures;
  std::map<std::string, provision::Storage> storage_of;  ///< What each node was given last.
  int attach_calls = 0;
  std::function<void()> on_wait;
};

class RecordedEvents final : public provision::ClusterEvents {
 public:
  void step_started(std::string_view step) override { steps.push_back("> " + std::string(step)); }
  void step_finished(std::string_view step) override {
    steps.push_back("< " + std::string(step));
    if (on_finished) on_finished();
  }
  void asking(std::string_view what) override { questions.push_back("> " + std::string(what)); }
  void asked() override { questions.emplace_back("<"); }
  void node_changed(const state::Node& node) override { nodes.push_back(node.name.value); }
  void left_behind(std::string_view sentence) override { left.emplace_back(sentence); }
  void network_shared(std::string_view sentence) override { shared.emplace_back(sentence); }
  void moving_on(std::string_view reason) override { moves.emplace_back(reason); }
  void replacing(std::string_view reason) override { replaced.emplace_back(reason); }
  void shrunk(std::size_t wanted, std::size_t got) override {
    shrinkings.emplace_back(wanted, got);
  }
  std::function<void()> on_finished;
  std::vector<std::string> moves;
  std::vector<std::string> replaced;
  std::vector<std::pair<std::size_t, std::size_t>> shrinkings;
  std::vector<std::string> steps;
  std::vector<std::string> questions;  ///< "> " and the question, and "<" after its answer.
  std::vector<std::string> left;
  std::vector<std::string> shared;
  std::vector<std::string> nodes;
};

/// As one process of fastgpu sees the world that lies in `place`.
class Workshop {
 public:
  explicit Workshop(const std::filesystem::path& place)
      : provider(place / "books.json"),
        other(place / "other.json", "static"),
        store(place / "state") {}

  provision::Tools tools() {
    return {.store = store,
            .providers = [this](const std::string& name) -> provision::Provider& {
              return name == "local" ? provider : other;
            },
            .keys = keys,
            .reachability = reachability,
            .events = events,
            .clock = clock,
            .cancel = cancel,
            .deadline = Clock::time_point(std::chrono::hours(1)),
            .lock_timeout = std::chrono::milliseconds(0),
            .setup = &reachability};
  }

  FakeProvider provider;
  FakeProvider other;
  state::Store store;
  FakeKeys keys;
  FakeReachability reachability;
  RecordedEvents events;
  FakeClock clock;
  Cancel cancel;
};

inline provision::ClusterSpec sample_spec(int nodes = 2) {
  return {.name = {"demo"}, .nodes = nodes, .slots = 2};
}

/// A workshop in a place of its own.
struct WorkshopWorld {
  TempDirectory place;
  Workshop shop{place.path()};
  provision::Tools tools = shop.tools();

  provision::ClusterView create(int nodes = 2) {
    return provision::create_cluster(tools, sample_spec(nodes), provision::OnFailure::remove).view;
  }
  void check_nothing_left() {
    CHECK(shop.provider.machines() == 0);
    CHECK(shop.provider.networks() == 0);
    CHECK(shop.store.clusters().empty());
    CHECK(shop.store.open_intents().empty());
    CHECK(std::filesystem::is_empty(shop.store.directory() / "clusters"));
  }
};

}  // namespace fastgpu::test
