#include "envs/environments/installation.hpp"

#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"
#include "envs/environments/build_copy.hpp"
#include "envs/environments/looking.hpp"
#include "envs/environments/nodes_python.hpp"
#include "envs/environments/requests.hpp"

namespace fastgpu::envs {
namespace {

using agent::EnvironmentStatus;

constexpr int kMostChains = 3;
/// So much goes by way of this machine to all nodes at once: a chain takes longer to be made.
constexpr Bytes kSmall{4 << 20};

/// The nodes of one installation that still go along.
class Installation {
 public:
  Installation(const NodeAccess& access, std::span<const ssh::Host> hosts,
               const InstallationRequest& request)
      : access_(access),
        all_(hosts),
        request_(request),
        lock_(request.lock),
        failed_(hosts.size()),
        relayed_(hosts.size()) {}

  InstallationResult run() {
    look({});
    if (request_.solves_anew) solve_anew();
    if (!plan_.done()) {
      if (plan_.must_build()) choose_solution();
      if (!has_place_everywhere()) look(request_.spec.name);
      discard();
      if (plan_.must_build()) build();
      check_fit();
      fault_point("env-built");
      copy();
      fault_point("env-copied");
      verify();
      use();
    }
    return result();
  }

 private:
  void look(const std::string& prepared) {
    const auto looked = look_at_nodes(access_, all_, request_.prefix, prepared);
    statuses_ = those_that_answered(looked);
    alive_.clear();
    failed_.assign(all_.size(), std::nullopt);
    for (std::size_t i = 0; i < looked.size(); ++i) {
      if (looked[i].ok())
        alive_.push_back(i);
      else
        failed_[i] = looked[i].error();
    }
    make_plan();
    if (prepared.empty() && !plan_.done()) warn_of_drivers(looked, request_);
  }

  void make_plan() {
    WantedEnvironment wanted = wanted_by(request_);
    if (lock_) {
      wanted.version = version_of(*lock_);
      wanted.machine = lock_->machine;
      wanted.libc = lock_->libc;
    }
    plan_ = plan_environment(statuses_, wanted);
  }

  /// Where it comes to the build that is there, nothing is left to do.
  void solve_anew() {
    if (lock_) return;
    look(request_.spec.name);
    lock_ = solve();
    make_plan();
  }

  /// What a place for it brings along is written down where it is made.
  bool has_place_everywhere() const {
    return std::ranges::all_of(statuses_, [&](const EnvironmentStatus& status) {
      return std::ranges::find(status.versions, request_.spec.name, &agent::FoundVersion::name) !=
             status.versions.end();
    });
  }

  EnvironmentLock solve() {
    const EnvironmentStatus& status = statuses_[plan_.source];
    return solve_on_node(access_, host_of(plan_.source), request_, toolbox(), status);
  }

  /// On the node that builds; made and brought there once.
  const Toolbox& toolbox() {
    const EnvironmentStatus& status = statuses_[plan_.source];
    if (!toolbox_) {
      toolbox_ = request_.toolbox(status.machine, archive());
      put_toolbox(access_, host_of(plan_.source), *toolbox_, status, request_.scratch);
    }
    return *toolbox_;
  }

  /// That of the lock, else the node that builds is asked, once.
  std::optional<PythonArchive> archive() {
    if (lock_) return archive_of(*lock_);
    if (!archive_)
      archive_ =
          python_on(access_, host_of(plan_.source), request_, statuses_[plan_.source].machine);
    return *archive_;
  }

  /// What cannot be solved for want of a Python is refused before anything is made.
  void choose_solution() {
    if (!lock_ && !request_.solves_anew) {
      lock_ = adopted_lock();
      is_adopted_ = lock_.has_value();
    }
    archive();
  }

  void build() {
    if (!lock_) lock_ = solve();
    try {
      build_locked();
    } catch (const Error& e) {
      if (!is_adopted_ || e.kind() != ErrorKind::conflict) throw;
      lock_.reset();
      toolbox_.reset();
      lock_ = solve();  // The node has another Python by now, or another C library.
      build_locked();
    }
  }

  /// That of the build which is in use on the node that builds, where only what is not solved is
  /// another there.
  std::optional<EnvironmentLock> adopted_lock() {
    const auto& found = statuses_[plan_.source].versions;
    const auto used = std::ranges::find_if(found, [&](const agent::FoundVersion& one) {
      return one.name == request_.spec.name && one.current && !one.manifest.empty();
    });
    if (used == found.end()) return std::nullopt;
    const ssh::Host& host = host_of(plan_.source);
    try {
      const auto answer = call_node(
          access_, host, {.words = {"env-show", prefix(), used->name, used->version}}, {});
      return adopt(parse_lock(answer.get("lock"), "the lock on " + host.name.value), request_.spec,
                   request_.fastgpu);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::interrupted) throw;
      return std::nullopt;  // Of a fastgpu that is not this one.
    }
  }

  void build_locked() {
    const ssh::Host& host = host_of(plan_.source);
    const EnvironmentStatus& status = statuses_[plan_.source];
    if (const std::string why = misfit(*lock_, status); !why.empty())
      throw Error(ErrorKind::conflict, host.name.value + ": " + why);
    plan_.version = version_of(*lock_);
    fault_point("env-solved");
    agent::BuildRequest build =
        build_request(*lock_, status.prefix, toolbox().hash, request_.patience);
    const auto along = early_receivers();
    if (!along.empty()) {
      BuildCopy what = build_copy();
      what.is_early = true;
      build.way = way_of(access_, route(), chain_of(along), what);
    }
    const auto answer = agent::parse_build_answer(
        call_node(access_, host, {.words = {"env-build"}, .input = to_records(build).text()},
                  request_.on_doing));
    plan_.manifest = answer.manifest;
    for (const std::size_t place : answer.reached)
      if (place < along.size()) relayed_[alive_[along[place]]] = true;
  }

  /// Those that get the build while it is made. None where they have another, of which they lack
  /// only what is new.
  std::vector<std::size_t> early_receivers() {
    std::vector<std::size_t> nodes = those_that(&NodeSteps::receives);
    std::erase_if(nodes, [&](std::size_t at) { return !misfit(*lock_, statuses_[at]).empty(); });
    if (!request_.route || nodes.empty() || !base_of(nodes).empty()) return {};
    return nodes;
  }

  /// Made once, where it is wanted.
  const remote::NodeRoute& route() {
    if (!route_) route_ = request_.route();
    return *route_;
  }

  std::vector<Receiver> chain_of(const std::vector<std::size_t>& nodes) const {
    std::vector<Receiver> chain;
    for (const std::size_t at : nodes)
      chain.push_back({host_of(at), alive_[at]});
    return chain;
  }

  BuildCopy build_copy() const {
    return {
        .directory = agent::EnvironmentPlaces{prefix()}.version(request_.spec.name, plan_.version),
        .scratch = request_.scratch,
        .rate = request_.rate};
  }

  /// What was built here does not run everywhere.
  void check_fit() {
    if (those_that(&NodeSteps::receives).empty()) return;
    look_at_source();
    for (std::size_t at = 0; at < alive_.size(); ++at)
      if (const std::string why = misfit(*lock_, statuses_[at]); !why.empty())
        fail(at, Error(ErrorKind::conflict, host_of(at).name.value + ": " + why));
  }

  void look_at_source() {
    const ssh::Host& host = host_of(plan_.source);
    const auto answer = call_node(
        access_, host, {.words = {"env-show", prefix(), request_.spec.name, plan_.version}}, {});
    size_.count = static_cast<std::uint64_t>(answer.number("bytes"));
    if (!lock_) lock_ = parse_lock(answer.get("lock"), "the lock on " + host.name.value);
  }

  void discard() {
    on_each(those_that(&NodeSteps::discards), "removing what is incomplete", [&](std::size_t at) {
      const auto& found = statuses_[at].versions;
      const auto it = std::ranges::find_if(found, [&](const auto& one) {
        return one.name == request_.spec.name && one.version == plan_.version;
      });
      return NodeCall{.words = {"env-discard", prefix(), it->name, it->version}};
    });
  }

  void copy() {
    std::vector<std::size_t> receivers = those_that_lack_it(those_that(&NodeSteps::receives));
    for (std::size_t at = 0; at < alive_.size();
         ++at)  // Some share the place of the one that built.
      plan_.nodes[at].receives =
          relayed_[alive_[at]] || std::ranges::find(receivers, at) != receivers.end();
    leave_out_full_ones(receivers);
    if (receivers.empty()) return;
    tell(host_of(plan_.source).name, "copying to " + std::to_string(receivers.size()) +
                                         (receivers.size() == 1 ? " node" : " nodes"));
    const BuildCopy what = build_copy();
    receivers = give_what_is_new(std::move(receivers), what);
    if (receivers.empty()) return;
    if (request_.route) receivers = relay_to_all(std::move(receivers), what);
    if (receivers.empty()) return;
    const auto hosts = hosts_of(receivers);
    const auto copied = copy_build(access_, host_of(plan_.source), hosts, what);
    for (std::size_t i = 0; i < receivers.size(); ++i)
      if (!copied[i].ok()) fail(receivers[i], copied[i].error());
  }

  /// To nodes that have nearly all of it in another build. Returns those that have not got it.
  std::vector<std::size_t> give_what_is_new(std::vector<std::size_t> receivers, BuildCopy what) {
    what.base = base_of(receivers);
    if (what.base.empty() || size_.count > bytes_in(what.base).count + kSmall.count)
      return receivers;
    const std::string difference = difference_of(access_, host_of(plan_.source), what);
    if (difference.empty()) return receivers;
    const auto given = give_difference(access_, hosts_of(receivers), what, difference);
    fault_point("env-given");
    std::vector<std::size_t> without;
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      relayed_[alive_[receivers[i]]] = given[i].ok();
      if (!given[i].ok()) without.push_back(receivers[i]);
    }
    return without;
  }

  /// Those that have no room go along no further.
  void leave_out_full_ones(std::vector<std::size_t>& receivers) {
    BuildSize size{.all = size_};
    const auto lacks_room = [&](std::size_t at) { return !shortage(size, statuses_[at]).empty(); };
    if (std::ranges::none_of(receivers, lacks_room)) return;
    if (request_.route) size.in_base = bytes_in(base_of(receivers));
    std::erase_if(receivers, [&](std::size_t at) {
      const std::string why = shortage(size, statuses_[at]);
      if (!why.empty()) fail(at, Error(ErrorKind::capacity, host_of(at).name.value + ": " + why));
      return !why.empty();
    });
  }

  /// Of the build's files those that `base` has, too.
  Bytes bytes_in(const std::filesystem::path& base) {
    if (base.empty()) return {};
    const auto answer = call_node(
        access_, host_of(plan_.source),
        {.words = {"env-show", prefix(), request_.spec.name, plan_.version, base.string()}}, {});
    return {static_cast<std::uint64_t>(answer.number("bytes-in-base"))};
  }

  /// Of those that go along.
  std::vector<std::size_t> those_that(bool NodeSteps::*step) const {
    std::vector<std::size_t> nodes;
    for (std::size_t at = 0; at < alive_.size(); ++at)
      if (plan_.nodes[at].*step && goes_along(at)) nodes.push_back(at);
    return nodes;
  }

  std::vector<ssh::Host> hosts_of(const std::vector<std::size_t>& nodes) const {
    std::vector<ssh::Host> hosts;
    for (const std::size_t at : nodes)
      hosts.push_back(host_of(at));
    return hosts;
  }

  /// Those behind a node that broke the chain get one of their own, which goes on where that was.
  /// Who stood at the head where a second chain helped nobody either is left out of the third.
  /// Returns those that no chain has brought it to.
  std::vector<std::size_t> relay_to_all(std::vector<std::size_t> receivers, const BuildCopy& what) {
    std::vector<std::size_t> suspects;
    for (int chain = 0; chain < kMostChains && !receivers.empty(); ++chain) {
      const std::size_t before = receivers.size();
      receivers = relay(receivers, what);
      if (chain == 0 || receivers.size() < before) continue;
      suspects.push_back(receivers.front());
      receivers.erase(receivers.begin());
    }
    receivers.insert(receivers.end(), suspects.begin(), suspects.end());
    return receivers;
  }

  /// Returns those that the chain has not brought it to.
  std::vector<std::size_t> relay(const std::vector<std::size_t>& receivers, const BuildCopy& what) {
    BuildCopy over = what;
    over.base = base_of(receivers);
    relay_build(access_, host_of(plan_.source), route(), chain_of(receivers), over);
    fault_point("env-relayed");
    const auto without = those_that_lack_it(receivers);
    for (const std::size_t at : receivers)
      relayed_[alive_[at]] = goes_along(at) && std::ranges::find(without, at) == without.end();
    return without;
  }

  /// What they and the source have already; empty where that is nothing.
  std::filesystem::path base_of(const std::vector<std::size_t>& receivers) const {
    std::vector<EnvironmentStatus> nodes = {statuses_[plan_.source]};
    for (const std::size_t at : receivers)
      nodes.push_back(statuses_[at]);
    const auto found = build_in_common(nodes, request_.spec.name, plan_.version);
    if (!found) return {};
    return agent::EnvironmentPlaces{prefix()}.version(found->name, found->version);
  }

  /// Looks at those nodes again.
  std::vector<std::size_t> those_that_lack_it(const std::vector<std::size_t>& nodes) {
    if (nodes.empty()) return {};
    const auto looked = look_at_nodes(access_, hosts_of(nodes), request_.prefix);
    std::vector<std::size_t> without;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!looked[i].ok()) {
        fail(nodes[i], looked[i].error());
        continue;
      }
      statuses_[nodes[i]] = looked[i].value();
      if (!has_build(statuses_[nodes[i]])) without.push_back(nodes[i]);
    }
    return without;
  }

  bool has_build(const EnvironmentStatus& status) const {
    return std::ranges::any_of(status.versions, [&](const agent::FoundVersion& found) {
      return found.name == request_.spec.name && found.version == plan_.version &&
             found.manifest == plan_.manifest;
    });
  }

  /// A chain has done so on its way.
  void verify() {
    std::vector<std::size_t> nodes = those_that(&NodeSteps::receives);
    std::erase_if(nodes, [&](std::size_t at) { return relayed_[alive_[at]]; });
    const auto answers = on_each(nodes, "verifying", [&](std::size_t) {
      return NodeCall{.words = {"env-verify", prefix(), request_.spec.name, plan_.version}};
    });
    std::vector<std::size_t> damaged;
    std::vector<Error> why;
    for (const auto& [at, records] : answers) {
      const auto answer = agent::parse_verify_answer(records);
      if (answer.manifest == plan_.manifest && answer.damaged.empty()) continue;
      const std::string what = answer.damaged.empty() ? "its manifest" : answer.damaged.front();
      damaged.push_back(at);
      why.emplace_back(ErrorKind::remote, host_of(at).name.value + ": arrived changed: " + what);
    }
    on_each(damaged, "removing what arrived changed", [&](std::size_t) {
      return NodeCall{.words = {"env-discard", prefix(), request_.spec.name, plan_.version}};
    });
    for (std::size_t i = 0; i < damaged.size(); ++i)
      fail(damaged[i], why[i]);
  }

  void use() {
    on_each(those_that(&NodeSteps::switches), "switching", [&](std::size_t) {
      return NodeCall{.words = {"env-use", prefix(), request_.spec.name, plan_.version}};
    });
  }

  /// Calls the agent on these nodes; those that fail go along no further.
  std::vector<std::pair<std::size_t, agent::Records>> on_each(
      const std::vector<std::size_t>& nodes, const std::string& doing,
      const std::function<NodeCall(std::size_t)>& call_of) {
    const auto hosts = hosts_of(nodes);
    for (const ssh::Host& host : hosts)
      tell(host.name, doing);
    const auto results = call_nodes(
        access_, hosts, [&](std::size_t i) { return call_of(nodes[i]); }, request_.on_doing);
    std::vector<std::pair<std::size_t, agent::Records>> answers;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (results[i].ok())
        answers.emplace_back(nodes[i], results[i].value());
      else
        fail(nodes[i], results[i].error());
    }
    return answers;
  }

  InstallationResult result() const {
    InstallationResult out{.prefix = prefix(), .version = plan_.version, .nodes = {}};
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto at = std::ranges::find(alive_, i) - alive_.begin();
      if (failed_[i])
        out.nodes.push_back({all_[i].name, *failed_[i]});
      else
        out.nodes.push_back(
            {all_[i].name, Installed{plan_.nodes[static_cast<std::size_t>(at)], relayed_[i]}});
    }
    return out;
  }

  void tell(const NodeName& node, const std::string& doing) const {
    if (request_.on_doing) request_.on_doing(node, doing);
  }

  void fail(std::size_t at, const Error& why) {
    if (why.kind() == ErrorKind::interrupted) throw Error(why);
    failed_[alive_[at]] = why;
  }

  bool goes_along(std::size_t at) const { return !failed_[alive_[at]]; }
  const ssh::Host& host_of(std::size_t at) const { return all_[alive_[at]]; }
  const std::string& prefix() const { return statuses_.front().prefix; }

  const NodeAccess& access_;
  std::span<const ssh::Host> all_;
  const InstallationRequest& request_;
  std::optional<EnvironmentLock> lock_;       // Once it is known.
  bool is_adopted_ = false;                   // It is that of another build.
  std::vector<std::optional<Error>> failed_;  // A node each.
  std::vector<bool> relayed_;                 // Likewise.
  std::vector<std::size_t> alive_;            // Which nodes answered; "at" is a place in this list.
  std::vector<EnvironmentStatus> statuses_;
  EnvironmentPlan plan_;
  std::optional<Toolbox> toolbox_;
  std::optional<std::optional<PythonArchive>> archive_;
  std::optional<remote::NodeRoute> route_;
  Bytes size_;  // Of the build; 0 until it is asked for.
};

}  // namespace

InstallationResult install(const NodeAccess& access, std::span<const ssh::Host> hosts,
                           const InstallationRequest& request) {
  return Installation(access, hosts, request).run();
}

}  // namespace fastgpu::envs
