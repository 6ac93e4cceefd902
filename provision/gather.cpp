#include "provision/gather.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "provision/bring_up.hpp"
#include "provision/failures.hpp"
#include "provision/ids.hpp"
#include "provision/journal.hpp"
#include "provision/merged_refusals.hpp"
#include "provision/observe.hpp"

namespace fastgpu::provision {
namespace {

using namespace std::chrono_literals;
using state::Cluster;
using state::Node;
using Results = std::vector<HostResult<Instance>>;

constexpr std::chrono::milliseconds kFirstPause = 2s;
constexpr std::chrono::milliseconds kLongestPause = 60s;

/// The machines acquired at one place.
struct Acquisition {
  Cluster cluster;  ///< The cluster with the network of that place.
  /// All requested nodes; those with a machine have an `instance_id`.
  std::vector<Node> nodes;
  std::optional<Error> refusal{};  ///< The reason for missing machines.
  bool is_new = false;             ///< True before the first request.
};

bool has_machine(const Node& node) {
  return !node.instance_id.empty();
}

std::size_t size_of(const Acquisition& acquisition) {
  return static_cast<std::size_t>(std::ranges::count_if(acquisition.nodes, has_machine));
}

bool is_whole(const Acquisition& acquisition) {
  return size_of(acquisition) == acquisition.nodes.size();
}

std::vector<Node> with_machines(const std::vector<Node>& nodes) {
  std::vector<Node> result;
  std::ranges::copy_if(nodes, std::back_inserter(result), has_machine);
  return result;
}

/// The number of places that are asked after refusals of unknown meaning. Such a refusal may be
/// about one place, or about the request itself.
constexpr int kMostUnexplained = 3;

/// Returns true if another place may accept the request: it may have room, the image, the key pair
/// or the permission.
bool may_differ_elsewhere(const Error& refusal) {
  return refusal.kind() == ErrorKind::capacity || refusal.kind() == ErrorKind::not_found ||
         refusal.kind() == ErrorKind::denied;
}

/// Returns the token of a node in a trial. The trial's own token is in the journal before machines
/// are requested, so that a run that resumes after a kill repeats the same tokens.
std::string token_in_trial(const std::string& trial, int index) {
  constexpr std::size_t kKept = 24;
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(index));
  return trial.substr(0, kKept) + digits;
}

void forget_machine(Node& node) {
  node.instance_id.clear();
  node.address.clear();
  node.private_address.clear();
}

/// Joins the refusals of the places in one error, with the kind of the first, best place.
Error as_one(const std::map<std::size_t, Error>& refusals) {
  std::vector<std::string> sentences;
  for (const auto& [place, refusal] : refusals)
    sentences.emplace_back(refusal.what());
  return {refusals.begin()->second.kind(), merged_refusals(sentences)};
}

/// Returns true if another place may launch what one refused: the place is full, or, if others
/// `may_be_asked`, the refusal is unexplained or about something missing.
bool may_be_had_elsewhere(const Error& refusal, bool may_be_asked) {
  return refusal.kind() == ErrorKind::capacity ||
         (may_be_asked &&
          (refusal.kind() == ErrorKind::remote || refusal.kind() == ErrorKind::not_found));
}

/// Returns the refusal that another place may not repeat; absent if nothing was refused. Throws any
/// other failure.
std::optional<Error> refusal_in(const Results& results, bool may_be_asked) {
  std::vector<NodeFailure> wants;
  std::vector<NodeFailure> others;
  for (const HostResult<Instance>& result : results)
    if (!result.ok())
      (may_be_had_elsewhere(result.error(), may_be_asked) ? wants : others)
          .push_back({result.host, result.error()});
  throw_failures("creating nodes", others);
  if (wants.empty()) return std::nullopt;
  return as_one("creating nodes", wants);
}

/// Returns the place of a trial.
state::Network place_of(const state::Intent& trial) {
  const auto* placement = std::get_if<state::CloudPlacement>(&*trial.detail);
  return placement == nullptr ? state::Network() : state::Network(*placement);
}

class MachineAcquirer {
 public:
  MachineAcquirer(const Tools& tools, Provider& provider, const GangPolicy& holding, HostKeys& keys)
      : tools_(tools), provider_(provider), holding_(holding), keys_(keys) {}

  /// Returns the reason for the missing machines, from every place that was asked.
  Error refusal() const { return as_one(refusals_); }

  /// Acquires machines within the limits of the places and of `holding`.
  Acquisition gather(Acquisition held) {
    ask_and_store(held);
    if (!keeps(held)) return gather_in_turn(std::move(held));
    const auto began = tools_.clock.now();
    std::chrono::milliseconds pause = kFirstPause;
    for (auto last = began;;) {
      if (!is_whole(held)) try_elsewhere(held);
      const auto now = tools_.clock.now();
      charge(held, now - last);
      last = now;
      if (is_whole(held) || !may_wait(now - began)) return held;
      tools_.clock.sleep(std::min(pause, left(now - began)));
      tools_.cancel.check();
      pause = std::min(pause * 2, kLongestPause);
      renew(held.nodes);
      store(held);
      ask_and_store(held);
    }
  }

  /// Gives nodes without a machine new tokens: a place repeats its answer to a repeated request.
  /// The keys stay the same, since the nodes' user data has them.
  void renew(std::vector<Node>& nodes) {
    renew(nodes, [](const Node&) { return new_token(); });
  }

  void store(const Acquisition& acquisition) {
    make_keys(tools_, acquisition.cluster, acquisition.nodes, provider_.host_key_use(), keys_);
    tools_.store.atomically([&] { put(acquisition); });
    fault_point("provision:gathered");
  }

 private:
  void put(const Acquisition& acquisition) {
    close_node_intents(tools_.store, acquisition.cluster.id, acquisition.nodes);
    for (const Node& node : acquisition.nodes) {
      tools_.store.put_node(node);
      open_node_intent(tools_.store, node, kCreateNode);
    }
    tools_.store.update_cluster(acquisition.cluster);
  }

  bool keeps(const Acquisition& held) const {
    return holding_.longest > 0s || holding_.most_cost ||
           (holding_.least > 0 && static_cast<std::size_t>(holding_.least) < held.nodes.size());
  }

  bool may_wait(std::chrono::nanoseconds waited) const {
    if (holding_.most_cost && cost_ && !(*cost_ < *holding_.most_cost)) return false;
    return waited < holding_.longest || (holding_.longest == 0s && holding_.most_cost);
  }

  std::chrono::milliseconds left(std::chrono::nanoseconds waited) const {
    if (holding_.longest == 0s) return kLongestPause;
    return std::chrono::ceil<std::chrono::milliseconds>(holding_.longest - waited);
  }

  /// Adds the cost of idle machines that were held for `time`.
  void charge(const Acquisition& held, std::chrono::nanoseconds time) {
    if (!holding_.most_cost) return;
    const auto price = provider_.price_per_hour(held.cluster);
    if (!price)
      throw Error(ErrorKind::usage,
                  "the price of these machines is unknown: use --hold instead of --hold-cost");
    const double hours = std::chrono::duration<double, std::ratio<3600>>(time).count();
    const Money more = *price * (hours * static_cast<double>(size_of(held)));
    cost_ = cost_ ? *cost_ + more : more;
  }

  /// Asks one place at a time, each once, and gives back machines before the next.
  Acquisition gather_in_turn(Acquisition held) {
    while (!is_whole(held)) {
      const Error refusal = *held.refusal;
      const auto there = provider_.places(held.cluster);
      if (there.here + 1 >= there.count) return held;
      tools_.events.moving_on(refusal.what());
      move_on(tools_, provider_, held.cluster, held.nodes);
      ask_and_store(held);
    }
    return held;
  }

  /// Gives each node without a machine the token that `token_for` returns.
  template <class TokenFor>
  void renew(std::vector<Node>& nodes, TokenFor token_for) {
    for (Node& node : nodes) {
      if (has_machine(node)) continue;
      const auto pair = keys_.find(node.token);
      if (pair == keys_.end())
        throw Error(ErrorKind::local, "the host key of " + node.name.value + " is missing");
      const KeyPair keys = pair->second;
      node.token = token_for(node);
      keys_.emplace(node.token, keys);
    }
  }

  /// Asks each other place once. The larger acquisition is held from then on.
  void try_elsewhere(Acquisition& held) {
    std::set<std::size_t> asked = {provider_.places(held.cluster).here};
    const std::size_t count = provider_.places(held.cluster).count;
    for (std::size_t place = 0; place < count && !is_whole(held); ++place) {
      if (!asked.insert(place).second) continue;
      tools_.events.moving_on(held.refusal->what());
      Acquisition trial{held.cluster, held.nodes};
      const auto left = unfinished_trial(held.cluster, place);
      trial.cluster.network = left ? place_of(*left) : provider_.network_at(held.cluster, place);
      std::ranges::for_each(trial.nodes, forget_machine);
      const std::string token = left ? left->token : new_token();
      renew(trial.nodes, [&](const Node& node) { return token_in_trial(token, node.index); });
      if (!prepare(trial)) {
        held.refusal = trial.refusal;
        continue;
      }
      const state::IntentId asking = open_trial(trial, token);
      request(trial);
      state::IntentId leaving;
      if (size_of(trial) > size_of(held)) {
        leaving = adopt(trial, held, asking);
        std::swap(held, trial);
      } else {
        leaving = leave(trial, asking);
        held.refusal = trial.refusal;
      }
      give_back(trial);
      tools_.store.close_intent(leaving);
    }
  }

  /// Returns the trial at that place that a killed run has left. For its token and its image the
  /// place repeats its answer, even while it does not list those machines.
  std::optional<state::Intent> unfinished_trial(const Cluster& cluster, std::size_t place) const {
    for (const state::Intent& trial : unspent_trials(tools_.store, cluster.id)) {
      Cluster there = cluster;
      there.network = place_of(trial);
      if (provider_.places(there).here == place) return trial;
    }
    return std::nullopt;
  }

  /// Opens the intent of a trial. Machines at a place that is not the cluster's are recorded in the
  /// journal only.
  state::IntentId open_trial(const Acquisition& acquisition, const std::string& token) {
    return tools_.store.open_intent({.id = {},
                                     .cluster = acquisition.cluster.id,
                                     .action = std::string(kTryPlace),
                                     .subject = acquisition.cluster.name.value,
                                     .token = token,
                                     .detail = acquisition.cluster.placement()});
  }

  /// Makes the trial's place the cluster's, and the acquisition so far a trial that is given back.
  state::IntentId adopt(const Acquisition& trial, const Acquisition& held, state::IntentId asking) {
    state::IntentId leaving;
    make_keys(tools_, trial.cluster, trial.nodes, provider_.host_key_use(), keys_);
    tools_.store.atomically([&] {
      leaving = open_trial(held, {});
      put(trial);
      spend(trial.cluster, asking);
    });
    fault_point("provision:adopted");
    return leaving;
  }

  /// Records that the trial's machines are being given back.
  state::IntentId leave(const Acquisition& trial, state::IntentId asking) {
    state::IntentId leaving;
    tools_.store.atomically([&] {
      leaving = open_trial(trial, {});
      spend(trial.cluster, asking);
    });
    return leaving;
  }

  /// Ends the trial, whose token is not repeated any more: a place that repeats its answer would
  /// name machines that are gone. A killed run's intent with the same token stays open without the
  /// token, because some of those machines may be listed later.
  void spend(const Cluster& cluster, state::IntentId asking) {
    const std::vector<state::Intent> trials = unspent_trials(tools_.store, cluster.id);
    const auto own = std::ranges::find(trials, asking, &state::Intent::id);
    if (own == trials.end()) return;
    for (state::Intent trial : trials) {
      if (trial.token != own->token) continue;
      tools_.store.close_intent(trial.id);
      trial.token.clear();
      if (trial.id != asking) tools_.store.open_intent(trial);
    }
  }

  void ask_and_store(Acquisition& acquisition) {
    if (!prepare(acquisition)) return;
    tools_.store.update_cluster(acquisition.cluster);
    request(acquisition);
    store(acquisition);
  }

  /// Prepares the place. Returns false if the place refuses and another one may accept. Throws if
  /// all machines are acquired already.
  bool prepare(Acquisition& acquisition) {
    try {
      run_step(tools_, "preparing the network", [&] {
        tools_.cancel.check();
        acquisition.cluster.network = provider_.prepare(acquisition.cluster, !acquisition.is_new);
        fault_point("provision:prepared");
      });
      return true;
    } catch (const Error& e) {
      const bool is_unexplained = e.kind() == ErrorKind::remote && may_ask_others(acquisition);
      if (is_whole(acquisition) || !(may_differ_elsewhere(e) || is_unexplained)) throw;
      if (is_unexplained) ++unexplained_;
      note_refusal(acquisition, e);
      return false;
    }
  }

  bool may_ask_others(const Acquisition& acquisition) const {
    return provider_.places(acquisition.cluster).count > 1 && unexplained_ < kMostUnexplained;
  }

  void note_refusal(Acquisition& acquisition, const Error& refusal) {
    acquisition.refusal = refusal;
    acquisition.is_new = false;  // Some of it may be there.
    refusals_.insert_or_assign(provider_.places(acquisition.cluster).here, refusal);
  }

  /// Requests machines. If a place gives all or nothing, requests fewer until some are given.
  void request(Acquisition& acquisition) {
    run_step(tools_, "creating " + counted(acquisition.nodes.size(), "node"), [&] {
      std::size_t most = acquisition.nodes.size();
      for (;;) {
        const std::size_t before = size_of(acquisition);
        request_some(acquisition, most);
        const std::size_t missing = acquisition.nodes.size() - size_of(acquisition);
        const bool got_some = size_of(acquisition) > before;
        if (missing == 0 || provider_.gives_parts() || !keeps(acquisition)) return;
        if (!got_some && most == 1) return;
        most = std::min(missing, got_some ? most : most / 2);
      }
    });
  }

  void request_some(Acquisition& acquisition, std::size_t most) {
    tools_.cancel.check();
    std::vector<Node> some = with_machines(acquisition.nodes);
    for (const Node& node : acquisition.nodes)
      if (!has_machine(node) && most > 0) {
        some.push_back(node);
        --most;
      }
    fault_point("provision:create");
    const Amount amount = keeps(acquisition) ? Amount::any : Amount::all_or_nothing;
    const Results results = request_nodes(tools_, provider_, acquisition.cluster, some, keys_,
                                          !acquisition.is_new, amount);
    fault_point("provision:created");
    tools_.cancel.check();
    for (Node& node : acquisition.nodes) {
      const auto result = std::ranges::find(results, node.name, &HostResult<Instance>::host);
      if (result == results.end()) continue;
      forget_machine(node);
      if (result->ok()) note_instance(node, result->value());
    }
    acquisition.refusal.reset();
    if (const auto refusal = refusal_in(results, may_ask_others(acquisition))) {
      if (refusal->kind() != ErrorKind::capacity) ++unexplained_;
      note_refusal(acquisition, *refusal);
    }
  }

  void give_back(const Acquisition& acquisition) {
    const std::vector<Node> got = with_machines(acquisition.nodes);
    if (got.empty()) return;
    std::vector<NodeFailure> failures;
    add_failures(failures, provider_.destroy(acquisition.cluster, got));
    throw_failures("giving up a place", failures);
    fault_point("provision:given_back");
  }

  const Tools& tools_;
  Provider& provider_;
  const GangPolicy& holding_;
  HostKeys& keys_;
  std::map<std::size_t, Error> refusals_;  ///< The last refusal of each place.
  std::optional<Money> cost_{};            ///< The cost of idle machines so far.
  int unexplained_ = 0;                    ///< The number of refusals of unknown meaning.
};

/// Removes nodes without a machine from the request and from the record.
void strike_missing(const Tools& tools, Acquisition& acquisition) {
  std::vector<Node> missing;
  for (const Node& node : acquisition.nodes)
    if (!has_machine(node)) missing.push_back(node);
  tools.store.atomically([&] {
    for (const Node& node : missing)
      tools.store.erase_node(acquisition.cluster.id, node.index);
    close_node_intents(tools.store, acquisition.cluster.id, missing);
  });
  std::erase_if(acquisition.nodes, [](const Node& node) { return !has_machine(node); });
  fault_point("provision:struck");
}

void keep_enough(const Tools& tools, const MachineAcquirer& gathering, const GangPolicy& holding,
                 Acquisition& acquisition) {
  const std::size_t least =
      holding.least > 0 ? static_cast<std::size_t>(holding.least) : acquisition.nodes.size();
  if (size_of(acquisition) < least) throw gathering.refusal();
  if (is_whole(acquisition)) return;
  tools.events.shrunk(acquisition.nodes.size(), size_of(acquisition));
  strike_missing(tools, acquisition);
}

}  // namespace

void gather(const Tools& tools, Provider& provider, const GangPolicy& holding, Cluster& cluster,
            std::vector<Node>& nodes, HostKeys& host_keys, bool may_be_there) {
  MachineAcquirer gathering(tools, provider, holding, host_keys);
  Acquisition acquisition =
      gathering.gather({.cluster = cluster, .nodes = nodes, .is_new = !may_be_there});
  cluster = acquisition.cluster;
  nodes = acquisition.nodes;
  keep_enough(tools, gathering, holding, acquisition);
  nodes = std::move(acquisition.nodes);
}

void gather_again(const Tools& tools, Provider& provider, const GangPolicy& holding,
                  Cluster& cluster, std::vector<Node>& nodes, HostKeys& host_keys) {
  const std::vector<Instance> found = provider.list(cluster, tools.cancel);
  for (Node& node : nodes) {
    const Instance* instance = find_instance(found, node);
    if (instance == nullptr || instance->state == InstanceState::gone) forget_machine(node);
  }
  MachineAcquirer gathering(tools, provider, holding, host_keys);
  gathering.renew(nodes);
  gathering.store({cluster, nodes});
  gather(tools, provider, holding, cluster, nodes, host_keys, true);
}

bool move_on(const Tools& tools, Provider& provider, Cluster& cluster, std::vector<Node>& nodes) {
  const auto places = provider.places(cluster);
  if (places.here + 1 >= places.count) return false;
  std::vector<NodeFailure> failures;
  add_failures(failures, provider.destroy(cluster, nodes));
  throw_failures("giving up a place", failures);
  std::ranges::for_each(nodes, forget_machine);
  cluster.network = provider.network_at(cluster, places.here + 1);
  tools.store.atomically([&] {
    for (const Node& node : nodes)
      tools.store.put_node(node);
    tools.store.update_cluster(cluster);
  });
  fault_point("provision:moved_on");
  return true;
}

}  // namespace fastgpu::provision
