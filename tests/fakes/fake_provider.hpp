// A place with machines that exist only in a file, so that they outlive the process that asked for
// them, as real ones do.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fault_point.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "provision/provider.hpp"
#include "state/directory.hpp"

namespace fastgpu::test {

/// Keeps its books in `file`: machines by token and networks by cluster. What it is asked for is
/// counted, and told to fail by node name. An address is given at the `list` after the creation
/// where `slow_addresses` says so.
class FakeProvider final : public provision::Provider {
  using Results = std::vector<HostResult<provision::Instance>>;

 public:
  explicit FakeProvider(std::filesystem::path file, std::string name = "local")
      : file_(std::move(file)), name_(std::move(name)) {}

  std::map<std::string, Error> create_failures;  ///< By node name.
  std::map<std::string, Error> destroy_failures;
  std::map<std::string, Error> start_failures;
  std::map<std::string, Error> stop_failures;
  std::optional<Error> unlisted_after_stop;        ///< What `list` throws after the first stop.
  std::map<std::string, std::string> left_behind;  ///< What stays of a machine that is destroyed.
  std::function<void()> on_create;                 ///< Called before each machine is made.
  std::string taken_by{};                          ///< Who owns every machine; empty: we do.
  bool slow_addresses = false;
  bool shares_host_keys = false;       ///< Nodes boot with one that they may not keep.
  bool loses_machines = false;         ///< Each ends before it is listed once.
  std::vector<std::string> renamed{};  ///< The names that clusters were given.
  int create_calls = 0;
  int destroy_calls = 0;
  std::optional<Error> network_in_use{};             ///< Why no network can be removed.
  std::vector<provision::ReleaseLimits> releases{};  ///< The limits of each release.
  std::optional<Error> unusable{};                   ///< Why this place cannot be used.
  std::optional<Error> unlisted{};   ///< Why its machines and orphans cannot be listed.
  std::optional<Error> not_asked{};  ///< Why this place is not asked for orphans.

  std::string_view name() const noexcept override { return name_; }
  void check_usable() override {
    if (unusable) throw *unusable;
  }
  provision::HostKeyUse host_key_use() const noexcept override {
    return shares_host_keys ? provision::HostKeyUse::first_boot : provision::HostKeyUse::one_a_node;
  }

  void rename(const state::Cluster& cluster, const Cancel&) override {
    renamed.push_back(cluster.name.value);
  }

  std::string difference(const state::Cluster& /*there*/,
                         const state::ProviderSpec& /*wanted*/) const override {
    return {};
  }

  state::Network prepare(const state::Cluster& cluster, bool /*may_be_there*/) override {
    edit([&](json& books) { books["networks"][cluster.id.value] = "10.0.0.0/24"; });
    return state::HostNetwork{"10.0.0.0/24"};
  }

  /// Returns the mounts of a cluster that has a request to a cloud.
  provision::Storage storage(const state::Cluster& cluster) const override {
    const auto* cloud = std::get_if<state::CloudSpec>(&*cluster.provider_spec);
    return {.mounts = cloud == nullptr ? std::vector<state::Mount>() : cloud->mounts};
  }

  Results create(const state::Cluster& cluster, std::span<const provision::NodeRequest> requests,
                 const Cancel& cancel) override {
    ++create_calls;
    Results results;
    for (const provision::NodeRequest& request : requests) {
      if (on_create) on_create();
      if (cancel.requested()) {
        results.push_back({request.name, Error(ErrorKind::interrupted, "interrupted")});
      } else if (const auto failure = create_failures.find(request.name.value);
                 failure != create_failures.end()) {
        results.push_back({request.name, failure->second});
      } else {
        results.push_back({request.name, make(cluster, request)});
      }
      fault_point("fake:create");
    }
    return results;
  }

  std::vector<provision::Instance> list(const state::Cluster& cluster,
                                        const Cancel& cancel) override {
    cancel.check();
    if (unlisted) throw *unlisted;
    std::vector<provision::Instance> found;
    edit([&](json& books) {
      for (auto& [token, machine] : books["machines"].items()) {
        if (machine["cluster"] != cluster.id.value) continue;
        if (machine["address"] == "") machine["address"] = machine["later"];
        found.push_back(instance_of(token, machine));
        found.back().owner = taken_by;
      }
    });
    std::ranges::sort(found, {}, &provision::Instance::index);
    return found;
  }

  Results start(const state::Cluster& /*cluster*/, std::span<const state::Node> nodes,
                const Cancel& /*cancel*/) override {
    return turn(nodes, "running", start_failures);
  }

  Results stop(const state::Cluster& /*cluster*/, std::span<const state::Node> nodes,
               const Cancel& /*cancel*/) override {
    if (unlisted_after_stop) unlisted = unlisted_after_stop;
    return turn(nodes, "stopped", stop_failures);
  }

  Results destroy(const state::Cluster& /*cluster*/, std::span<const state::Node> nodes) override {
    ++destroy_calls;
    Results results;
    for (const state::Node& node : nodes) {
      const auto failure = destroy_failures.find(node.name.value);
      if (failure != destroy_failures.end()) {
        results.push_back({node.name, failure->second});
        continue;
      }
      edit([&](json& books) { books["machines"].erase(node.token); });
      provision::Instance gone{.index = node.index,
                               .id = node.instance_id,
                               .token = node.token,
                               .state = provision::InstanceState::gone};
      if (const auto left = left_behind.find(node.name.value); left != left_behind.end())
        gone.left_behind = left->second;
      results.push_back({node.name, gone});
      fault_point("fake:destroy");
    }
    return results;
  }

  std::optional<Error> release(const state::Cluster& cluster,
                               const provision::ReleaseLimits& limits) override {
    releases.push_back(limits);
    edit([&](json& books) {
      for (auto machine = books["machines"].begin(); machine != books["machines"].end();)
        machine = (*machine)["cluster"] == cluster.id.value ? books["machines"].erase(machine)
                                                            : std::next(machine);
      if (!network_in_use) books["networks"].erase(cluster.id.value);
    });
    return network_in_use;
  }

  provision::Orphans orphans(std::span<const state::ClusterId> known) override {
    if (unlisted) throw *unlisted;
    std::set<std::string> owners;
    for (const state::ClusterId& id : known)
      owners.insert(id.value);
    provision::Orphans all{.not_asked = not_asked};
    const json books = read();
    for (const auto& [token, machine] : books["machines"].items())
      if (!owners.contains(machine["cluster"]))
        all.found.push_back(
            {provision::Orphan::Kind::instance, token, {machine["cluster"].get<std::string>()}});
    for (const auto& [cluster, network] : books["networks"].items())
      if (!owners.contains(cluster))
        all.found.push_back({provision::Orphan::Kind::network, cluster, {cluster}});
    return all;
  }

  void remove_orphan(const provision::Orphan& orphan) override {
    edit([&](json& books) {
      books[orphan.kind == provision::Orphan::Kind::network ? "networks" : "machines"].erase(
          orphan.id);
    });
  }

  // What a test looks at, and does behind everybody's back.
  std::size_t machines() const { return read()["machines"].size(); }
  std::size_t networks() const { return read()["networks"].size(); }
  int machines_ever() const { return read()["made"].get<int>(); }
  void lose_machine(const std::string& token) {
    edit([&](json& books) { books["machines"].erase(token); });
  }
  void reboot() {
    edit([](json& books) {
      for (auto& machine : books["machines"])
        machine["state"] = "stopped";
    });
  }
  void add_machine(const std::string& cluster, const std::string& token) {
    edit([&](json& books) { books["machines"][token] = machine_for(cluster, 99, "10.0.0.99"); });
  }

 private:
  using json = nlohmann::json;

  static json machine_for(const std::string& cluster, int index, const std::string& address) {
    return {{"cluster", cluster}, {"index", index},   {"state", "running"},
            {"address", address}, {"later", address}, {"host_key", ""}};
  }

  static provision::Instance instance_of(const std::string& token, const json& machine) {
    const bool is_running = machine["state"] == "running";
    return {
        .index = machine["index"],
        .id = "i-" + token.substr(0, 6),
        .token = token,
        .state = is_running ? provision::InstanceState::running : provision::InstanceState::stopped,
        .address = machine["address"],
        .private_address = machine["address"],
        .port = 22};
  }

  provision::Instance make(const state::Cluster& cluster, const provision::NodeRequest& request) {
    provision::Instance made;
    edit([&](json& books) {
      json& machines = books["machines"];
      if (!machines.contains(request.token)) {
        books["made"] = books["made"].get<int>() + 1;
        machines[request.token] = machine_for(cluster.id.value, request.index,
                                              "10.0.0." + std::to_string(request.index + 2));
        machines[request.token]["host_key"] = request.host_public_key;
        if (slow_addresses) machines[request.token]["address"] = "";
      }
      made = instance_of(request.token, machines[request.token]);
      if (loses_machines) machines.erase(request.token);
    });
    return made;
  }

  Results turn(std::span<const state::Node> nodes, const std::string& state,
               const std::map<std::string, Error>& failures) {
    Results results;
    for (const state::Node& node : nodes) {
      if (const auto failure = failures.find(node.name.value); failure != failures.end()) {
        results.push_back({node.name, failure->second});
        continue;
      }
      edit([&](json& books) {
        json& machine = books["machines"].at(node.token);
        machine["state"] = state;
        results.push_back({node.name, instance_of(node.token, machine)});
      });
      fault_point("fake:turn");
    }
    return results;
  }

  json read() const {
    const auto text = read_file(file_);
    if (text) return json::parse(*text);
    return {{"machines", json::object()}, {"networks", json::object()}, {"made", 0}};
  }

  template <class Edit>
  void edit(Edit change) {
    json books = read();
    change(books);
    state::write_private_file(file_, books.dump());
  }

  std::filesystem::path file_;
  std::string name_;
};

}  // namespace fastgpu::test
