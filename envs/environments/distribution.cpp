#include "envs/environments/distribution.hpp"

#include <algorithm>
#include <utility>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/fault_point.hpp"

namespace fastgpu::envs {
namespace {

constexpr int kMostChains = 3;
/// The size up to which a build goes from this machine to all nodes at once: to set up a chain
/// takes longer.
constexpr Bytes kSmall{4 << 20};

bool is_among(std::size_t node, const InstallTargets::Nodes& nodes) {
  return contains(nodes, node);
}

}  // namespace

InstallTargets::Nodes Distribution::early_receivers(const EnvironmentLock& lock) const {
  Nodes receivers = nodes_.those_that(&NodeSteps::receives);
  std::erase_if(receivers,
                [&](std::size_t node) { return !misfit(lock, nodes_.status_of(node)).empty(); });
  if (!nodes_.request.route || receivers.empty() || !base_of(receivers).empty()) return {};
  return receivers;
}

std::vector<std::string> Distribution::early_way(const Nodes& receivers) {
  BuildCopy what = build_copy();
  what.is_early = true;
  return way_of(nodes_.access, route(), chain_of(receivers), what);
}

void Distribution::copy(Bytes size) {
  Nodes receivers = nodes_.those_that_lack_it(nodes_.those_that(&NodeSteps::receives));
  for (std::size_t node = 0; node < nodes_.plan.nodes.size(); ++node)
    nodes_.plan.nodes[node].receives =  // Some share the directory of the building node.
        nodes_.is_relayed(node) || is_among(node, receivers);
  leave_out_full_ones(receivers, size);
  if (receivers.empty()) return;
  nodes_.tell(nodes_.source().name, "copying to " + counted(receivers.size(), "node"));
  const BuildCopy what = build_copy();
  receivers = give_what_is_new(std::move(receivers), what, size);
  if (nodes_.request.route) receivers = relay_to_all(std::move(receivers), what);
  if (!receivers.empty()) copy_by_way_of_us(receivers, what);
}

/// Returns the route, which is made once, when it is needed.
const remote::NodeRoute& Distribution::route() {
  if (!route_) route_ = nodes_.request.route();
  return *route_;
}

std::vector<Receiver> Distribution::chain_of(const Nodes& receivers) const {
  std::vector<Receiver> chain;
  for (const std::size_t node : receivers)
    chain.push_back({nodes_.host_of(node), nodes_.place_of(node)});
  return chain;
}

BuildCopy Distribution::build_copy() const {
  return {.directory = nodes_.directory(),
          .scratch = nodes_.request.scratch,
          .rate = nodes_.request.rate};
}

/// Removes nodes without room from the installation.
void Distribution::leave_out_full_ones(Nodes& receivers, Bytes size) {
  BuildSize needed{.all = size};
  const auto why_not = [&](std::size_t node) { return shortage(needed, nodes_.status_of(node)); };
  if (std::ranges::all_of(receivers, [&](std::size_t node) { return why_not(node).empty(); }))
    return;
  if (nodes_.request.route) needed.in_base = bytes_in(base_of(receivers));
  std::erase_if(receivers, [&](std::size_t node) {
    const std::string why = why_not(node);
    if (!why.empty())
      nodes_.fail(node, Error(ErrorKind::capacity, nodes_.host_of(node).name.value + ": " + why));
    return !why.empty();
  });
}

/// Returns the bytes of the build's files that `base` has, too.
Bytes Distribution::bytes_in(const std::filesystem::path& base) const {
  if (base.empty()) return {};
  const auto answer =
      nodes_.on_source({.words = {"env-show", nodes_.prefix(), nodes_.request.spec.name,
                                  nodes_.plan.version, base.string()}});
  return {static_cast<std::uint64_t>(answer.number("bytes-in-base"))};
}

/// Returns a build that they and the source have already; may be empty.
std::filesystem::path Distribution::base_of(const Nodes& receivers) const {
  std::vector<agent::EnvironmentStatus> statuses = {nodes_.source_status()};
  for (const std::size_t node : receivers)
    statuses.push_back(nodes_.status_of(node));
  const auto found = build_in_common(statuses, nodes_.request.spec.name, nodes_.plan.version);
  if (!found) return {};
  return agent::EnvironmentPlaces{nodes_.prefix()}.version(found->name, found->version);
}

/// Sends only the difference to nodes that have nearly all of it in another build. Returns the
/// nodes that did not get it.
InstallTargets::Nodes Distribution::give_what_is_new(Nodes receivers, BuildCopy what, Bytes size) {
  what.base = base_of(receivers);
  if (what.base.empty() || size.count > bytes_in(what.base).count + kSmall.count) return receivers;
  const std::string difference = difference_of(nodes_.access, nodes_.source(), what);
  if (difference.empty()) return receivers;
  const auto given = give_difference(nodes_.access, nodes_.hosts_of(receivers), what, difference);
  fault_point("env-given");
  Nodes without;
  for (std::size_t i = 0; i < receivers.size(); ++i) {
    nodes_.note_relayed(receivers[i], given[i].ok());
    if (!given[i].ok()) without.push_back(receivers[i]);
  }
  return without;
}

/// Relays in several chains: nodes behind the one that broke a chain get one of their own, which
/// resumes there. If a second chain reaches no more nodes, its head is left out of the third.
/// Returns the nodes that no chain has reached.
InstallTargets::Nodes Distribution::relay_to_all(Nodes receivers, const BuildCopy& what) {
  Nodes suspects;
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

/// Runs one chain. Returns the nodes that it has not reached.
InstallTargets::Nodes Distribution::relay(const Nodes& receivers, const BuildCopy& what) {
  BuildCopy over = what;
  over.base = base_of(receivers);
  relay_build(nodes_.access, nodes_.source(), route(), chain_of(receivers), over);
  fault_point("env-relayed");
  Nodes without = nodes_.those_that_lack_it(receivers);
  for (const std::size_t node : receivers)
    nodes_.note_relayed(node, nodes_.goes_along(node) && !is_among(node, without));
  return without;
}

void Distribution::copy_by_way_of_us(const Nodes& receivers, const BuildCopy& what) {
  const auto copied = copy_build(nodes_.access, nodes_.source(), nodes_.hosts_of(receivers), what);
  for (std::size_t i = 0; i < receivers.size(); ++i)
    if (!copied[i].ok()) nodes_.fail(receivers[i], copied[i].error());
}

}  // namespace fastgpu::envs
