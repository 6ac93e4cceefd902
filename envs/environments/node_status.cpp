#include "envs/environments/node_status.hpp"

#include <chrono>

#include "envs/environments/nodes_python.hpp"

namespace fastgpu::envs {

using agent::EnvironmentStatus;

std::vector<HostResult<EnvironmentStatus>> look_at_nodes(const NodeAccess& access,
                                                         std::span<const ssh::Host> hosts,
                                                         const std::string& prefix,
                                                         const std::string& prepared) {
  NodeCall call{.words = {"env-status"}};
  if (!prepared.empty()) call.words.insert(call.words.end(), {"--prepare", prepared});
  if (!access.cluster.empty()) call.words.insert(call.words.end(), {"--cluster", access.cluster});
  if (!prefix.empty()) call.words.push_back(prefix);
  std::vector<HostResult<EnvironmentStatus>> out;
  for (const auto& result : call_nodes(access, hosts, [&](std::size_t) { return call; }, {})) {
    if (result.ok())
      out.push_back({result.host, agent::parse_environment_status(result.value())});
    else
      out.push_back({result.host, result.error()});
  }
  return out;
}

namespace {

/// Calls the agent on all hosts, also after a cancel. Reports no failure.
void clean_up(const NodeAccess& access, std::span<const ssh::Host> hosts,
              const std::vector<std::string>& words, std::chrono::seconds timeout) noexcept try {
  const Cancel never;
  NodeAccess cleanup{access.client, access.agent, access.options, never, access.cluster};
  cleanup.options.timeout = timeout;
  const NodeCall call{.words = words};
  call_nodes(cleanup, hosts, [&](std::size_t) { return call; }, {});
} catch (const std::exception&) {
  // The caller is about to report the failure that matters.
}

}  // namespace

void remove_unused_build(const NodeAccess& access, std::span<const ssh::Host> hosts,
                         const std::string& prefix, const std::string& name,
                         const std::string& version) {
  constexpr std::chrono::seconds kTimeout{30};  // A build can have 100,000 files.
  clean_up(access, hosts, {"env-discard", "--unused", prefix, name, version}, kTimeout);
}

void remove_empty_places(const NodeAccess& access, std::span<const ssh::Host> hosts,
                         const std::string& prefix, const std::string& name) {
  constexpr std::chrono::seconds kTimeout{5};  // The user waits, often after a Ctrl-C.
  clean_up(access, hosts, {"env-remove", "--if-empty", prefix, name}, kTimeout);
}

WantedEnvironment wanted_by(const InstallationRequest& request) {
  WantedEnvironment wanted{.name = request.spec.name, .spec = sum_of(request.spec)};
  if (request.lock) {
    wanted.version = version_of(*request.lock);
    wanted.machine = request.lock->machine;
    wanted.libc = request.lock->libc;
  }
  if (request.archive) {  // Another fastgpu may write that lock in another way.
    wanted.version = request.archive->version;
    wanted.manifest = request.archive->manifest;
  }
  return wanted;
}

std::vector<EnvironmentStatus> those_that_answered(
    const std::vector<HostResult<EnvironmentStatus>>& nodes) {
  std::vector<EnvironmentStatus> out;
  for (const auto& node : nodes)
    if (node.ok()) out.push_back(node.value());
  if (out.empty() && !nodes.empty()) throw Error(nodes.front().error());
  for (const EnvironmentStatus& status : out)
    if (status.prefix != out.front().prefix)
      throw Error(ErrorKind::conflict, "environments would be in " + out.front().prefix +
                                           " on one node and in " + status.prefix +
                                           " on another: choose one for all with --prefix");
  return out;
}

void warn_of_drivers(const std::vector<HostResult<EnvironmentStatus>>& nodes,
                     const InstallationRequest& request) {
  if (!request.on_warning) return;
  const Matrix matrix = builtin_matrix();
  for (const auto& node : nodes) {
    if (!node.ok()) continue;
    const std::string why = accelerator_objection(request.spec, node.value(), matrix);
    if (!why.empty()) request.on_warning(node.host, why);
  }
}

namespace {

/// Returns the host of a node from its index among those that answered.
const ssh::Host& host_of(const std::vector<HostResult<EnvironmentStatus>>& nodes,
                         std::span<const ssh::Host> hosts, std::size_t answered) {
  std::size_t at = 0;
  while (!nodes[at].ok() || answered-- > 0)
    ++at;
  return hosts[at];
}

void leave_out_misfits(std::vector<HostResult<EnvironmentStatus>>& nodes,
                       const EnvironmentLock& lock) {
  for (auto& node : nodes) {
    const std::string why = node.ok() ? misfit(lock, node.value()) : "";
    if (!why.empty()) node = {node.host, Error(ErrorKind::conflict, node.host.value + ": " + why)};
  }
}

}  // namespace

PlannedInstallation plan_installation(const NodeAccess& access, std::span<const ssh::Host> hosts,
                                      const InstallationRequest& request) {
  PlannedInstallation out{.nodes = look_at_nodes(access, hosts, request.prefix), .plan = {}};
  if (request.archive) leave_out_misfits(out.nodes, request.archive->lock);
  const auto answered = those_that_answered(out.nodes);
  if (request.archive) check_prefix(*request.archive, answered.front().prefix);
  out.plan = plan_environment(answered, wanted_by(request));
  if (!out.plan.done()) warn_of_drivers(out.nodes, request);
  if (out.plan.must_build()) {
    const agent::EnvironmentStatus& builder = answered[out.plan.source];
    out.python = python_on(access, host_of(out.nodes, hosts, out.plan.source), request,
                           request.lock, builder.machine);
  }
  return out;
}

}  // namespace fastgpu::envs
