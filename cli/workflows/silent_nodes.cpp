#include "cli/workflows/silent_nodes.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/time_text.hpp"
#include "cli/workflows/name_folding.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/recovery.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::seconds kAskAgainAfter{30};
constexpr std::chrono::milliseconds kAskFor{3'000};
constexpr std::chrono::milliseconds kAnswerWithin{10'000};

std::string folded(const std::vector<NodeName>& nodes) {
  std::vector<std::string> names;
  for (const NodeName& node : nodes)
    names.push_back(node.value);
  return fold_names(names);
}

void leave_out(RemoteTarget& target, const std::vector<NodeName>& names) {
  for (std::size_t i = target.nodes.size(); i-- > 0;) {
    if (!contains(names, target.nodes[i].name)) continue;
    target.nodes.erase(target.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    target.hosts.erase(target.hosts.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<launcher::NodeAnswer> ask_briefly(Services& services,
                                              const std::vector<launcher::NodeTask>& tasks) {
  const auto usual = services.settings().duration("connect-timeout");
  return launcher::ask(services.ssh(), tasks, kAnswerWithin, services.cancel(),
                       std::min(kAskFor, usual));
}

bool is_silence(const HostResult<ssh::Exit>& result) {
  return !result.ok() && (result.error().kind() == ErrorKind::transient ||
                          result.error().kind() == ErrorKind::timeout);
}

}  // namespace

std::optional<state::Silence> silence_of(Services& services, const state::Node& node) {
  if (node.state != state::NodeState::running) return std::nullopt;
  return state::find_silence(
      state::silence_file(services.state_directory(), node.cluster, node.name));
}

void note_unanswered(Services& services, const state::ClusterId& cluster,
                     const launcher::JobOutcome& outcome) {
  for (const launcher::LostNode& node : outcome.unanswered) {
    // The reason may begin with the name and the address: "demo-1 (10.0.0.7:22): ".
    const auto place = node.why.find("): ");
    const bool has_place = place != node.why.npos && node.why.starts_with(node.node.value + " (");
    state::note_silence(state::silence_file(services.state_directory(), cluster, node.node),
                        has_place ? node.why.substr(place + 3) : node.why);
  }
}

std::vector<NodeName> silent_nodes(Services& services, const RemoteTarget& target) {
  const auto now = std::chrono::system_clock::now();
  std::vector<launcher::NodeTask> asked;
  for (std::size_t i = 0; i < target.nodes.size(); ++i) {
    const auto silence = silence_of(services, target.nodes[i]);
    const bool is_old = silence && (now - silence->tried > kAskAgainAfter || silence->tried > now);
    if (is_old) asked.push_back({.host = target.hosts[i], .command = "true"});
  }
  if (!asked.empty()) {
    ask_briefly(services, asked);
    services.cancel().check();
  }
  std::vector<NodeName> silent;
  for (const state::Node& node : target.nodes)
    if (silence_of(services, node)) silent.push_back(node.name);
  return silent;
}

std::vector<NodeName> nodes_without_answer(Services& services, const RemoteTarget& target,
                                           const std::vector<NodeName>& names) {
  std::vector<launcher::NodeTask> asked;
  for (std::size_t i = 0; i < target.nodes.size(); ++i)
    if (contains(names, target.nodes[i].name))
      asked.push_back({.host = target.hosts[i], .command = "true"});
  std::vector<NodeName> silent;
  if (asked.empty()) return silent;
  for (const launcher::NodeAnswer& answer : ask_briefly(services, asked))
    if (is_silence(answer.result)) silent.push_back(answer.result.host);
  return silent;
}

void leave_out_silent(Services& services, RemoteTarget& target, const launcher::JobSpec& spec) {
  if (spec.engine != launcher::EngineKind::mpirun) return;
  const std::vector<NodeName> silent = silent_nodes(services, target);
  const bool has_size = spec.ranks.has_value();  // Otherwise all nodes are asked for.
  if (silent.empty() || !has_size || !launcher::fits_without(slots_of(target.nodes), silent, spec))
    return;
  state::TimePoint since = state::TimePoint::max();
  std::string reason;
  for (const state::Node& node : target.nodes)
    if (const auto silence = silence_of(services, node); silence && silence->since < since) {
      since = silence->since;
      reason = silence->reason;
    }
  leave_out(target, silent);
  if (reason.empty()) return;  // It has answered meanwhile.
  services.messages().note(folded(silent) + (silent.size() == 1 ? " has" : " have") +
                           " not answered since " + utc_text(since) + " (" + reason +
                           "): the job goes to the other nodes");
}

std::string words_to_leave_out(Services& services, const state::Cluster& cluster,
                               const std::vector<NodeName>& silent) {
  std::string others;
  int slots = 0;
  for (const state::Node& node : services.store().nodes(cluster.id)) {
    if (node.state != state::NodeState::running || contains(silent, node.name)) continue;
    if (silence_of(services, node)) continue;
    others += (others.empty() ? "" : ",") + node.name.value;
    slots += node.slots;
  }
  if (silent.empty() || others.empty()) return {};
  return "; to leave " + folded(silent) + " out: -H " + others + " (" +
         counted(static_cast<std::size_t>(slots), "slot") + ")";
}

}  // namespace fastgpu::cli
