#include "envs/environments/plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "envs/matrix/name.hpp"

namespace fastgpu::envs {
namespace {

using agent::EnvironmentStatus;
using agent::FoundVersion;

/// A version with the sum of its manifest: the same build wherever both are the same.
using Build = std::pair<std::string, std::string>;

const FoundVersion* find(const EnvironmentStatus& node, const std::string& name,
                         const std::string& version) {
  const auto found = std::ranges::find_if(node.versions, [&](const FoundVersion& one) {
    return one.name == name && one.version == version;
  });
  return found == node.versions.end() ? nullptr : &*found;
}

bool fits(const FoundVersion& found, const WantedEnvironment& wanted) {
  if (found.name != wanted.name || found.manifest.empty()) return false;
  return wanted.version ? found.version == *wanted.version : found.spec == wanted.spec;
}

/// The build that most nodes have, in use counting more; nothing where none has any.
std::optional<Build> common_build(std::span<const EnvironmentStatus> nodes,
                                  const WantedEnvironment& wanted) {
  std::map<Build, int> votes;
  for (const EnvironmentStatus& node : nodes)
    for (const FoundVersion& found : node.versions)
      if (fits(found, wanted)) votes[{found.version, found.manifest}] += found.current ? 3 : 2;
  const auto best =
      std::ranges::max_element(votes, {}, [](const auto& candidate) { return candidate.second; });
  if (best == votes.end()) return std::nullopt;
  return best->first;
}

std::string version_number(const std::string& libc) {
  const auto space = libc.rfind(' ');
  return space == std::string::npos ? "" : libc.substr(space + 1);
}

}  // namespace

bool EnvironmentPlan::done() const noexcept {
  return std::ranges::none_of(nodes, &NodeSteps::any);
}

EnvironmentPlan plan_environment(std::span<const EnvironmentStatus> nodes,
                                 const WantedEnvironment& wanted) {
  EnvironmentPlan plan{.version = wanted.version.value_or("")};
  const auto build = common_build(nodes, wanted);
  if (build) std::tie(plan.version, plan.manifest) = *build;
  bool has_source = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const FoundVersion* const found = find(nodes[i], wanted.name, plan.version);
    const bool has_it = build && found != nullptr && found->manifest == plan.manifest;
    NodeSteps steps{.discards = found != nullptr && !has_it,
                    .builds = false,
                    .receives = !has_it,
                    .switches = !has_it || !found->current};
    if (!has_source && (has_it || !build)) {
      has_source = true;
      plan.source = i;
      steps.builds = !has_it;
      steps.receives = false;
    }
    plan.nodes.push_back(steps);
  }
  return plan;
}

std::vector<std::string> describe(const EnvironmentPlan& plan, std::size_t node) {
  const NodeSteps& steps = plan.nodes[node];
  std::vector<std::string> out;
  if (steps.discards) out.emplace_back("remove what is incomplete");
  if (steps.builds) out.emplace_back("solve and build");
  if (steps.receives) out.emplace_back("receive the build and verify it");
  if (steps.switches) out.emplace_back("switch to it");
  if (out.empty()) out.emplace_back("nothing: it is there");
  return out;
}

std::optional<FoundVersion> build_in_common(std::span<const EnvironmentStatus> nodes,
                                            const std::string& name, const std::string& version) {
  const auto worth = [&](const FoundVersion& one) {
    return (one.name == name ? 2 : 0) + (one.current ? 1 : 0);
  };
  const auto is_on_all = [&](const FoundVersion& one) {
    return std::ranges::all_of(nodes, [&](const EnvironmentStatus& node) {
      const FoundVersion* const found = find(node, one.name, one.version);
      return found != nullptr && found->manifest == one.manifest;
    });
  };
  std::optional<FoundVersion> best;
  for (const FoundVersion& one : nodes.front().versions) {
    if (one.manifest.empty() || (one.name == name && one.version == version)) continue;
    if (is_on_all(one) && (!best || worth(one) > worth(*best))) best = one;
  }
  return best;
}

std::string misfit(const EnvironmentLock& lock, const EnvironmentStatus& node) {
  if (node.machine != lock.machine)
    return "its processor is " + node.machine + ", and the lock is for " + lock.machine;
  const std::string has = version_number(node.libc);
  const std::string wants = version_number(lock.libc);
  if (has.empty() != wants.empty() || compare_versions(has, wants) < 0)
    return "its C library is " + (node.libc.empty() ? "unknown" : node.libc) +
           ", and the lock was made for " + lock.libc;
  return "";
}

std::string shortage(const BuildSize& size, const EnvironmentStatus& node) {
  const Bytes free{node.free_bytes};
  const Bytes wanted{size.all.count - std::min(size.all.count, size.in_base.count)};
  if (free.count == 0 || wanted <= free) return "";
  const bool has_base = wanted < size.all;
  return "the build takes " + to_string(wanted) +
         (has_base ? " beside the one that is there" : "") + ", and " + to_string(free) +
         " are free in " + node.prefix + ": make room there, or name another place (--prefix)";
}

std::string driver_objection(const EnvironmentSpec& spec, const EnvironmentStatus& node,
                             const Matrix& matrix) {
  if (spec.from.empty() || !find_driver(matrix, node.driver)) return "";
  const Accelerator accelerator = parse_environment_name(spec.from).accelerator;
  if (accelerator.platform != Platform::cuda) return "";
  const auto cuda = find_cuda(matrix, accelerator.version);
  if (!cuda || carries(matrix, node.driver, *cuda) != Carries::no) return "";
  return "its driver " + node.driver + " cannot carry CUDA " + cuda->version +
         ", for which the environment is made: fastgpu env install-driver --cuda " + cuda->version +
         " brings one that can";
}

}  // namespace fastgpu::envs
