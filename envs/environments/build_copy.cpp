#include "envs/environments/build_copy.hpp"

#include <algorithm>
#include <iterator>

#include "base/units.hpp"
#include "remote/agent_call.hpp"
#include "remote/kept_copy.hpp"
#include "transfer/resume.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kLargestDifference = 64UL << 20;

/// Returns the copy's key. Another version of the same environment replaces the kept one. Two
/// builds of one version are mostly equal; if they are not, the manifest shows it at the end.
std::string key_of(const BuildCopy& what) {
  return transfer::sha256_hex(what.directory.parent_path().string())
             .substr(0, transfer::kPlaceDigits) +
         transfer::sha256_hex(what.directory.string())
             .substr(0, transfer::kKeyDigits - transfer::kPlaceDigits);
}

remote::CopyOptions copy_options(const NodeAccess& access, const BuildCopy& what) {
  return {.width = access.options.width,
          .connect_timeout = access.options.connect_timeout,
          .rate = what.rate};
}

/// Returns the position that all of them have reached.
transfer::Position kept_by(const NodeAccess& access, std::span<const Receiver> nodes,
                           const std::string& key, const BuildCopy& what) {
  std::vector<ssh::Host> hosts;
  std::ranges::transform(nodes, std::back_inserter(hosts), &Receiver::host);
  return std::ranges::min(remote::kept_positions(access.client, hosts, key, what.directory.string(),
                                                 access.agent, copy_options(access, what),
                                                 access.cancel));
}

}  // namespace

std::vector<std::string> way_of(const NodeAccess& access, const remote::NodeRoute& route,
                                std::span<const Receiver> to, const BuildCopy& what) {
  const std::string key = key_of(what);
  std::vector<std::string> way = {"--config", route.config, "--build"};
  const auto add = [&](const std::vector<std::string>& words) {
    way.insert(way.end(), words.begin(), words.end());
  };
  if (what.is_early) add({"--early"});
  if (!what.base.empty()) add({"--base", what.base.string()});
  add(remote::resume_words(key, kept_by(access, to, key, what)));
  if (what.rate) add({"--limit-rate", to_string(*what.rate)});
  add({"--"});
  for (const Receiver& node : to)
    add({route.names[node.at]});
  return way;
}

void relay_build(const NodeAccess& access, const ssh::Host& from, const remote::NodeRoute& route,
                 std::span<const Receiver> to, const BuildCopy& what) try {
  NodeCall call{
      .words = {"relay", "--from", what.directory.string(), "--to", what.directory.string()}};
  std::ranges::copy(way_of(access, route, to, what), std::back_inserter(call.words));
  call_node(access, from, call, {});
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  // Otherwise the nodes are checked, and get it in another way.
}

std::string difference_of(const NodeAccess& access, const ssh::Host& from, const BuildCopy& what) {
  const std::string place = what.directory.string();
  std::vector<std::string> words = {
      "relay", "--from", place, "--to", place, "--build", "--out", "--base", what.base.string()};
  if (what.rate) words.insert(words.end(), {"--limit-rate", to_string(*what.rate)});
  const auto said = remote::ask_agents(access.client, {&from, 1}, access.agent, words,
                                       kLargestDifference, access.options, access.cancel);
  if (said[0].size() >= kLargestDifference)
    throw Error(ErrorKind::remote, from.name.value +
                                       ": the difference between two builds is over " +
                                       to_string(Bytes{kLargestDifference}));
  return said[0];
}

std::vector<HostResult<agent::Records>> give_difference(const NodeAccess& access,
                                                        std::span<const ssh::Host> to,
                                                        const BuildCopy& what,
                                                        const std::string& difference) {
  const NodeCall call{
      .words = {"relay", "--to", what.directory.string(), "--build", "--base", what.base.string()},
      .input = difference};
  return call_nodes(access, to, [&](std::size_t) { return call; }, {});
}

std::vector<HostResult<remote::Copied>> copy_build(const NodeAccess& access, const ssh::Host& from,
                                                   std::span<const ssh::Host> to,
                                                   const BuildCopy& what) {
  const remote::CopyOptions options = copy_options(access, what);
  const auto here = what.scratch / "build";
  const auto taken = remote::copy_from(access.client, {&from, 1}, {what.directory.string()}, here,
                                       access.agent, options, nullptr, access.cancel);
  if (!taken[0].ok()) throw Error(taken[0].error());
  return remote::copy_to(access.client, to, {here}, what.directory.string(), access.agent, options,
                         nullptr, access.cancel);
}

}  // namespace fastgpu::envs
