#include "envs/environments/installation.hpp"

#include <algorithm>
#include <utility>

#include "base/contains.hpp"
#include "base/fault_point.hpp"
#include "envs/environments/distribution.hpp"
#include "envs/environments/install_targets.hpp"
#include "envs/environments/local_wheels.hpp"
#include "envs/environments/node_status.hpp"
#include "envs/environments/nodes_python.hpp"
#include "envs/environments/requests.hpp"
#include "envs/environments/solving.hpp"
#include "envs/environments/sources.hpp"
#include "envs/environments/toolbox.hpp"
#include "envs/environments/unpacking.hpp"

namespace fastgpu::envs {
namespace {

class Installation {
 public:
  Installation(const NodeAccess& access, std::span<const ssh::Host> hosts,
               const InstallationRequest& request)
      : access_(access),
        request_(request),
        nodes_(access, hosts, request),
        distribution_(nodes_),
        lock_(request.lock) {}

  InstallationResult run() try {
    look({});
    if (request_.solves_anew) solve_anew();
    if (!plan().done()) {
      if (plan().must_build()) choose_solution();
      if (!has_place_everywhere()) look(request_.spec.name);
      discard();
      new_ = nodes_that_get_it();
      if (plan().must_build()) build();
      if (plan().must_unpack()) unpack();
      check_fit();
      fault_point("env-built");
      distribution_.copy(size_);
      fault_point("env-copied");
      verify();
      use();
      if (request_.archive) remove_unused(failed_among(new_));
    }
    return nodes_.result();
  } catch (const std::exception& e) {
    way_.reset();  // It uses the connections to the nodes.
    if (request_.archive && !is_interruption(e)) remove_unused(new_);
    if (has_prepared_)
      remove_empty_places(access_, nodes_.hosts_of(nodes_.all()), nodes_.prefix(),
                          request_.spec.name);
    throw;
  }

 private:
  void look(const std::string& prepared) {
    if (!prepared.empty()) has_prepared_ = true;
    const auto looked = nodes_.look(prepared);
    if (request_.archive) check_prefix(*request_.archive, nodes_.prefix());
    make_plan();
    if (prepared.empty() && !plan().done()) warn_of_drivers(looked, request_);
  }

  void make_plan() {
    WantedEnvironment wanted = wanted_by(request_);
    if (lock_ && !request_.lock) {
      wanted.version = version_of(*lock_);
      wanted.machine = lock_->machine;
      wanted.libc = lock_->libc;
    }
    plan() = plan_environment(nodes_.statuses(), wanted);
  }

  /// Solves again; if the result is the existing build, no work is left.
  void solve_anew() {
    if (lock_) return;
    look(request_.spec.name);
    lock_ = solve();
    make_plan();
  }

  /// Returns true if all nodes have a place for it: the places are made with it.
  bool has_place_everywhere() const {
    return std::ranges::all_of(nodes_.statuses(), [&](const agent::EnvironmentStatus& status) {
      return contains(status.versions, request_.spec.name, &agent::FoundVersion::name);
    });
  }

  /// Solves after the check of the way, so that an unreachable index is known before a tool is
  /// fetched.
  EnvironmentLock solve() {
    const IndexWay& open_way = way();
    send_wheels(request_.spec);
    return solve_on_node(access_, nodes_.source(), request_, toolbox(), nodes_.source_status(),
                         open_way);
  }

  /// Returns the building node's way to the indexes; found once.
  const IndexWay& way() {
    if (!way_) {
      FetchPlan plan = fetch_plan(request_);
      if (lock_) plan.may_need_none = has_earlier_build();
      way_.emplace(access_, nodes_.source(), plan, request_.on_doing);
    }
    return *way_;
  }

  /// Returns true if there is a build to take packages from.
  bool has_earlier_build() const {
    return std::ranges::any_of(nodes_.source_status().versions,
                               [&](const agent::FoundVersion& found) {
                                 return found.name == request_.spec.name && !found.manifest.empty();
                               });
  }

  /// Returns the toolbox on the building node; made and brought there once.
  const Toolbox& toolbox() {
    const agent::EnvironmentStatus& status = nodes_.source_status();
    if (!toolbox_) {
      toolbox_ = request_.toolbox(status.machine, archive());
      put_toolbox(access_, nodes_.source(), *toolbox_, status, request_.scratch);
    }
    return *toolbox_;
  }

  /// Sends the wheels of this machine to the building node, once.
  void send_wheels(const EnvironmentSpec& spec) {
    if (has_wheels_) return;
    put_wheels(access_, nodes_.source(), request_, spec, nodes_.source_status());
    has_wheels_ = true;
  }

  /// Returns the archive for the building node, which is asked at most once.
  std::optional<PythonArchive> archive() {
    if (!archive_)
      archive_ =
          python_on(access_, nodes_.source(), request_, lock_, nodes_.source_status().machine);
    return *archive_;
  }

  /// Chooses the solution. A missing Python is refused before anything is made.
  void choose_solution() {
    if (!lock_ && !request_.solves_anew) {
      lock_ = adopted_lock();
      is_adopted_ = lock_.has_value();
    }
    archive();
  }

  /// Returns the lock of the build in use on the building node, if only fields that need no solving
  /// differ.
  std::optional<EnvironmentLock> adopted_lock() const {
    const auto& found = nodes_.source_status().versions;
    const auto used = std::ranges::find_if(found, [&](const agent::FoundVersion& one) {
      return one.name == request_.spec.name && one.current && !one.manifest.empty();
    });
    if (used == found.end()) return std::nullopt;
    try {
      const auto answer =
          nodes_.on_source({.words = {"env-show", nodes_.prefix(), used->name, used->version}});
      return adopt(lock_in(answer), request_.spec, request_.fastgpu);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::interrupted) throw;
      return std::nullopt;  // It comes from another fastgpu.
    }
  }

  EnvironmentLock lock_in(const agent::Records& shown) const {
    return parse_lock(shown.get("lock"), "the lock on " + nodes_.source().name.value);
  }

  void build() {
    if (!lock_) lock_ = solve();
    try {
      build_locked();
    } catch (const Error& e) {
      if (!is_adopted_ || (e.kind() != ErrorKind::conflict && e.kind() != ErrorKind::not_found))
        throw;
      lock_.reset();
      toolbox_.reset();
      archive_.reset();
      lock_ = solve();  // The node may now have another Python or none, or another C library.
      build_locked();
    }
  }

  void build_locked() {
    const std::string& node = nodes_.source().name.value;
    if (const std::string why = misfit(*lock_, nodes_.source_status()); !why.empty())
      throw Error(ErrorKind::conflict, node + ": " + why);
    plan().version = version_of(*lock_);
    fault_point("env-solved");
    const IndexWay& open_way = way();
    send_wheels(lock_->spec);
    put_sources(access_, nodes_.source(), request_, *lock_, nodes_.source_status());
    agent::BuildRequest build = build_request(*lock_, nodes_.prefix(), toolbox().hash,
                                              request_.index_timeout, request_.logins);
    const auto along = distribution_.early_receivers(*lock_);
    if (!along.empty()) build.way = distribution_.early_way(along);
    build.builder.proxy = open_way.proxy();
    const auto answer = build_by(open_way, build);
    way_.reset();
    plan().manifest = answer.manifest;
    for (const std::string& warning : answer.warnings)
      if (request_.on_warning) request_.on_warning(nodes_.source().name, warning);
    for (const std::size_t place : answer.reached)
      if (place < along.size()) nodes_.note_relayed(along[place], true);
  }

  agent::BuildAnswer build_by(const IndexWay& open_way, const agent::BuildRequest& build) const
      try {
    return agent::parse_build_answer(
        nodes_.on_source({.words = {"env-build"}, .input = to_records(build).text()}));
  } catch (const Error& e) {
    throw open_way.explained(e);
  }

  void unpack() {
    unpack_on_source(nodes_);
    fault_point("env-unpacked");
  }

  /// Checks the nodes that the build cannot run on.
  void check_fit() {
    if (nodes_.those_that(&NodeSteps::receives).empty()) return;
    look_at_source();
    for (const std::size_t node : nodes_.all())
      if (const std::string why = misfit(*lock_, nodes_.status_of(node)); !why.empty())
        nodes_.fail(node, Error(ErrorKind::conflict, nodes_.host_of(node).name.value + ": " + why));
  }

  void look_at_source() {
    const auto answer = nodes_.on_source(
        {.words = {"env-show", nodes_.prefix(), request_.spec.name, plan().version}});
    size_.count = static_cast<std::uint64_t>(answer.number("bytes"));
    if (!lock_) lock_ = lock_in(answer);
  }

  void discard() {
    nodes_.on_each(nodes_.those_that(&NodeSteps::discards), "removing incomplete builds",
                   [&](std::size_t) { return on_build("env-discard"); });
  }

  /// Verifies the builds that were not checked on their way.
  void verify() {
    InstallTargets::Nodes received = nodes_.those_that(&NodeSteps::receives);
    std::erase_if(received, [&](std::size_t node) { return nodes_.is_relayed(node); });
    const auto answers =
        nodes_.on_each(received, "verifying", [&](std::size_t) { return on_build("env-verify"); });
    InstallTargets::Nodes damaged;
    std::vector<Error> why;
    for (const auto& [node, records] : answers) {
      const auto answer = agent::parse_verify_answer(records);
      if (answer.manifest == plan().manifest && answer.damaged.empty()) continue;
      const std::string what = answer.damaged.empty() ? "its manifest" : answer.damaged.front();
      damaged.push_back(node);
      why.emplace_back(ErrorKind::remote,
                       nodes_.host_of(node).name.value +
                           ": the copy of the build was damaged on the way: " + what);
    }
    nodes_.on_each(damaged, "removing damaged copies",
                   [&](std::size_t) { return on_build("env-discard"); });
    for (std::size_t i = 0; i < damaged.size(); ++i)
      nodes_.fail(damaged[i], why[i]);
  }

  void use() {
    nodes_.on_each(nodes_.those_that(&NodeSteps::switches), "switching",
                   [&](std::size_t) { return on_build("env-use"); });
  }

  /// Returns the nodes that get the build from elsewhere, so that it is easily got again.
  InstallTargets::Nodes nodes_that_get_it() const {
    InstallTargets::Nodes nodes = nodes_.all();
    std::erase_if(nodes, [&](std::size_t node) {
      const NodeSteps& steps = nodes_.plan.nodes[node];
      return !steps.unpacks && !steps.receives;
    });
    return nodes;
  }

  InstallTargets::Nodes failed_among(InstallTargets::Nodes nodes) const {
    std::erase_if(nodes, [&](std::size_t node) { return nodes_.goes_along(node); });
    return nodes;
  }

  static bool is_interruption(const std::exception& e) {
    const auto* const error = dynamic_cast<const Error*>(&e);
    return error != nullptr && error->kind() == ErrorKind::interrupted;
  }

  /// Removes the build, and parts of it, from nodes where it is not in use.
  void remove_unused(const InstallTargets::Nodes& nodes) const {
    if (nodes.empty()) return;
    const auto hosts = nodes_.hosts_of(nodes);
    remove_unused_build(access_, hosts, nodes_.prefix(), request_.spec.name, nodes_.plan.version);
    remove_empty_places(access_, hosts, nodes_.prefix(), request_.spec.name);
  }

  NodeCall on_build(const char* word) const {
    return {.words = {word, nodes_.prefix(), request_.spec.name, nodes_.plan.version}};
  }

  EnvironmentPlan& plan() { return nodes_.plan; }

  const NodeAccess& access_;
  const InstallationRequest& request_;
  InstallTargets nodes_;
  Distribution distribution_;
  std::optional<EnvironmentLock> lock_;  // Present once it is known.
  bool is_adopted_ = false;              // It is that of another build.
  std::optional<IndexWay> way_;
  std::optional<Toolbox> toolbox_;
  bool has_wheels_ = false;
  bool has_prepared_ = false;  // Places for the environment were made on the nodes.
  std::optional<std::optional<PythonArchive>> archive_;
  InstallTargets::Nodes new_;  // The nodes that get the build from elsewhere now.
  Bytes size_;                 // The size of the build; 0 until it is known.
};

}  // namespace

InstallationResult install(const NodeAccess& access, std::span<const ssh::Host> hosts,
                           const InstallationRequest& request) {
  return Installation(access, hosts, request).run();
}

}  // namespace fastgpu::envs
