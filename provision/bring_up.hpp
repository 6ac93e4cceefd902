// From nodes written down to nodes that answer: the part that creating and scaling share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "provision/cluster_keys.hpp"
#include "provision/journal.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Announces a step, does it, and announces its end where it succeeds.
template <class Action>
void run_step(const Tools& tools, const std::string& text, Action action) {
  tools.events.step_started(text);
  action();
  tools.events.step_finished(text);
}

/// Rows for new nodes, each under a fresh token. Nothing is stored. Throws where the provider says
/// that one of them cannot be had.
std::vector<state::Node> new_nodes(const Tools& tools, Provider& provider,
                                   const state::Cluster& cluster, std::span<const int> indexes);

/// Stores the nodes as `creating`, with their keys' public halves, each with an open intent.
void write_down(const Tools& tools, std::vector<state::Node>& nodes, const HostKeys& host_keys,
                std::string_view action = kCreateNode);

/// What of several nodes is of use.
enum class Amount : std::uint8_t { all_or_nothing, any };

/// Asks for nodes that are written down (again, where an earlier run has asked already and they
/// `may_be_there`), and starts those that stand still. Stores nothing.
std::vector<HostResult<Instance>> request_nodes(const Tools& tools, Provider& provider,
                                                const state::Cluster& cluster,
                                                const std::vector<state::Node>& nodes,
                                                const HostKeys& host_keys, bool may_be_there,
                                                Amount amount);

/// Asks for nodes, and waits until all of them are ours. What is learnt of them is stored on the
/// way. Their intents stay open. Throws with the first node's failure.
void bring_up(const Tools& tools, Provider& provider, const state::Cluster& cluster,
              std::vector<state::Node>& nodes, const HostKeys& host_keys);

/// Waits until nodes that were asked for let us in, with host keys that only they know and the
/// storage that they are to have.
void make_ours(const Tools& tools, Provider& provider, const state::Cluster& cluster,
               std::vector<state::Node>& nodes);

/// Gives nodes that run that storage, and no other. Throws with the first node's failure.
void attach_storage(const Tools& tools, const state::Cluster& cluster,
                    std::span<const state::Node> nodes, const Storage& storage);

/// Waits until `nodes` have addresses and let us in.
void await_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                 std::vector<state::Node>& nodes);

/// Takes over what a provider answered about `nodes`, and stores it. Returns nothing of failures.
void note_results(const Tools& tools, std::vector<state::Node>& nodes,
                  const std::vector<HostResult<Instance>>& results);

/// What is known of them now, in one transaction.
void store_nodes(const Tools& tools, const std::vector<state::Node>& nodes);

/// Nobody will give it an address.
Error gone_machine(const state::Node& node);

}  // namespace fastgpu::provision
