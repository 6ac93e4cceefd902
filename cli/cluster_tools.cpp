#include "cli/cluster_tools.hpp"

#include <poll.h>

#include <algorithm>

#include "ssh/keys.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

using std::chrono::milliseconds;
using Outcomes = std::vector<HostResult<provision::Reached>>;

constexpr milliseconds kFirstPause{50};  // A node of this machine is there at once.
constexpr milliseconds kLongestPause{1'000};
constexpr milliseconds kOneTry{5'000};

bool worth_repeating(const Error& error) {
  return error.kind() == ErrorKind::transient || error.kind() == ErrorKind::timeout;
}

/// One outcome of a try: reached, or why not.
HostResult<provision::Reached> outcome_of(const HostResult<ssh::Exit>& tried) {
  if (!tried.ok()) return {tried.host, tried.error()};
  if (tried.value().code() == 0) return {tried.host, provision::Reached{}};
  return {tried.host, Error(ErrorKind::transient, tried.host.value + ": its shell ended with " +
                                                      std::to_string(tried.value().code()))};
}

}  // namespace

void SystemClock::sleep(milliseconds duration) {
  pollfd stop{cancel_.fd(), POLLIN, 0};
  ::poll(&stop, 1, static_cast<int>(std::max<milliseconds::rep>(0, duration.count())));
}

provision::KeyPair SshKeyMaker::make(std::string_view comment) {
  ssh::KeyPair made = ssh::generate_key_pair(comment);
  return {std::move(made.private_key), std::move(made.public_key)};
}

void ProgressEvents::step_started(std::string_view step) {
  try {
    ui_.progress(step);
  } catch (const Error&) {  // Progress that nobody can read stops nothing.
  }
}

void ProgressEvents::step_finished(std::string_view) {
  ui_.end_progress();
}

Outcomes SshReachability::wait(const state::Cluster& cluster, std::span<const state::Node> nodes,
                               Clock::time_point deadline, const Cancel& cancel) {
  Outcomes out;
  for (const state::Node& node : nodes)
    out.push_back(
        {node.name, Error(ErrorKind::timeout, node.name.value + ": no time left to reach it")});
  std::vector<std::size_t> pending(nodes.size());
  for (std::size_t i = 0; i < pending.size(); ++i)
    pending[i] = i;
  milliseconds pause = kFirstPause;
  while (!pending.empty() && clock_.now() < deadline) {
    std::vector<ssh::Task> tasks;
    for (const std::size_t i : pending)
      tasks.push_back({.host = to_host(state_directory_, cluster, nodes[i]), .command = "true"});
    const ssh::RunOptions options{.connect_timeout = kOneTry, .timeout = kOneTry};
    const auto tried = client_.run(std::move(tasks), options, cancel);
    std::vector<std::size_t> again;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      out[pending[i]] = outcome_of(tried[i]);
      const auto& outcome = out[pending[i]];
      if (!outcome.ok() && worth_repeating(outcome.error())) again.push_back(pending[i]);
    }
    pending = std::move(again);
    if (pending.empty() || cancel.requested()) break;
    clock_.sleep(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  for (const std::size_t i : pending)
    if (!cancel.requested()) out[i].result = Error(ErrorKind::timeout, out[i].error().what());
  return out;
}

Outcomes NoWaiting::wait(const state::Cluster&, std::span<const state::Node> nodes,
                         Clock::time_point, const Cancel&) {
  Outcomes out;
  for (const state::Node& node : nodes)
    out.push_back({node.name, provision::Reached{}});
  return out;
}

ssh::Host to_host(const std::filesystem::path& state_directory, const state::Cluster& cluster,
                  const state::Node& node) {
  const std::filesystem::path key = node.identity_file.empty()
                                        ? state::identity_file(state_directory, cluster.id)
                                        : std::filesystem::path(node.identity_file);
  ssh::Host host{.name = node.name,
                 .address = node.address,
                 .port = node.port,
                 .user = node.user.empty() ? cluster.user : node.user,
                 .identity = key,
                 .host_keys = node.host_keys};
  for (const state::JumpHost& jump : node.jumps)
    host.jumps.push_back({.name = {jump.address},
                          .address = jump.address,
                          .port = jump.port,
                          .user = jump.user,
                          .identity = key,
                          .host_keys = jump.host_keys});
  return host;
}

}  // namespace fastgpu::cli
