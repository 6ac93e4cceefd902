// The steps from recorded nodes to nodes that answer: the common part of creating and scaling.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "provision/cluster_keys.hpp"
#include "provision/journal.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Announces a step, does it, and announces its end if it succeeds.
template <class Action>
void run_step(const Tools& tools, const std::string& text, Action action) {
  tools.events.step_started(text);
  action();
  tools.events.step_finished(text);
}

/// Asks a place, and reports that: the answer may be late.
template <class Question>
auto ask(const Tools& tools, const std::string& what, Question question) {
  struct Asked {
    ClusterEvents& events;
    ~Asked() { events.asked(); }
  };
  tools.events.asking(what);
  const Asked end{tools.events};
  return question();
}

/// Returns rows for new nodes, each with a fresh token. Stores nothing. Throws if the provider
/// reports that one of them is not available.
std::vector<state::Node> new_nodes(const Tools& tools, Provider& provider,
                                   const state::Cluster& cluster, std::span<const int> indexes);

/// Stores the nodes as `creating`, with their keys' public halves, each with an open intent.
void write_down(const Tools& tools, std::vector<state::Node>& nodes, const HostKeys& host_keys,
                std::string_view action = kCreateNode);

/// The number of the requested machines that is of use.
enum class Amount : std::uint8_t { all_or_nothing, any };

/// Requests recorded nodes, and starts stopped ones. Finds existing machines first if an earlier
/// run has requested them and they `may_be_there`. Stores nothing.
std::vector<HostResult<Instance>> request_nodes(const Tools& tools, Provider& provider,
                                                const state::Cluster& cluster,
                                                const std::vector<state::Node>& nodes,
                                                const HostKeys& host_keys, bool may_be_there,
                                                Amount amount);

/// Requests nodes, and waits until all of them accept our login. Stores new facts about them on the
/// way. Their intents stay open. Throws the first node's failure.
void bring_up(const Tools& tools, Provider& provider, const state::Cluster& cluster,
              std::vector<state::Node>& nodes, const HostKeys& host_keys);

/// Waits until requested nodes accept our login, with host keys that only they know and with their
/// storage.
void make_ours(const Tools& tools, Provider& provider, const state::Cluster& cluster,
               std::vector<state::Node>& nodes);

/// Gives running nodes exactly that storage. Throws the first node's failure.
void attach_storage(const Tools& tools, const state::Cluster& cluster,
                    std::span<const state::Node> nodes, const Storage& storage);

/// Waits until `nodes` have addresses and accept our login.
void await_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                 std::vector<state::Node>& nodes);

/// Stores the identities and addresses in a provider's answer about `nodes`. Ignores failures.
void note_results(const Tools& tools, std::vector<state::Node>& nodes,
                  const std::vector<HostResult<Instance>>& results);

/// Stores the present state of nodes, in one transaction.
void store_nodes(const Tools& tools, const std::vector<state::Node>& nodes);

}  // namespace fastgpu::provision
