#include "envs/environments/environment_plan.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/join.hpp"
#include "envs/matrix/name.hpp"

namespace fastgpu::envs {
namespace {

using agent::EnvironmentStatus;
using agent::FoundVersion;

/// A version with the SHA-256 of its manifest: the same build wherever both are equal.
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
  if (!wanted.manifest.empty() && found.manifest != wanted.manifest) return false;
  return wanted.version ? found.version == *wanted.version : found.spec == wanted.spec;
}

/// Returns the build that most nodes have, with more weight for one in use; absent if no node has
/// one.
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

std::string driver_objection(const std::string& version, const EnvironmentStatus& node,
                             const Matrix& matrix) {
  if (!find_driver(matrix, node.driver)) return "";
  const auto cuda = find_cuda(matrix, version);
  if (!cuda || carries(matrix, node.driver, *cuda) != Carries::no) return "";
  return "its driver " + node.driver + " does not support CUDA " + cuda->version +
         ", which the environment needs: fastgpu env install-driver --cuda " + cuda->version +
         " installs one that does";
}

std::string cann_objection(const std::string& version, const EnvironmentStatus& node) {
  if (std::ranges::any_of(node.cann,
                          [&](const std::string& there) { return covers(version, there); }))
    return "";
  const std::string there = joined(node.cann);
  return (there.empty() ? "it has no CANN" : "its CANN is " + there) +
         ", but the environment needs CANN " + version +
         ": list its installers as 'cann' in env.yaml, or install it there";
}

/// Returns "2.36" of "glibc 2.36".
std::string version_number(const std::string& libc) {
  const auto space = libc.rfind(' ');
  return space == std::string::npos ? "" : libc.substr(space + 1);
}

std::string misfit(const std::string& machine, const std::string& libc,
                   const EnvironmentStatus& node) {
  if (node.machine != machine)
    return "its processor is " + node.machine + ", but the lock is for " + machine;
  const std::string has = version_number(node.libc);
  const std::string wants = version_number(libc);
  if (has.empty() != wants.empty() || compare_versions(has, wants) < 0)
    return "its C library is " + (node.libc.empty() ? "unknown" : node.libc) +
           ", but the lock is for " + libc;
  return "";
}

/// Returns the kind of programs that a node can run, except for the version of its C library.
std::pair<std::string, std::string> kind_of(const EnvironmentStatus& node) {
  return {node.machine, node.libc.substr(0, node.libc.find(' '))};
}

/// Returns the node that solves and builds. With a lock it is the first node that fits, or the
/// first one. Otherwise it has the most common kind and, among those, the oldest C library: its
/// builds run on the others.
std::size_t builder_among(std::span<const EnvironmentStatus> nodes,
                          const WantedEnvironment& wanted) {
  if (wanted.version) {
    const auto fitting = std::ranges::find_if(nodes, [&](const EnvironmentStatus& node) {
      return misfit(wanted.machine, wanted.libc, node).empty();
    });
    return fitting == nodes.end() ? 0 : static_cast<std::size_t>(fitting - nodes.begin());
  }
  const auto alike = [&](const EnvironmentStatus& node) {
    return std::ranges::count(nodes, kind_of(node), kind_of);
  };
  const auto is_better = [&](const EnvironmentStatus& a, const EnvironmentStatus& b) {
    if (kind_of(a) != kind_of(b)) return alike(a) > alike(b);
    return compare_versions(version_number(a.libc), version_number(b.libc)) < 0;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < nodes.size(); ++i)
    if (is_better(nodes[i], nodes[best])) best = i;
  return best;
}

}  // namespace

bool EnvironmentPlan::done() const noexcept {
  return std::ranges::none_of(nodes, &NodeSteps::any);
}

EnvironmentPlan plan_environment(std::span<const EnvironmentStatus> nodes,
                                 const WantedEnvironment& wanted) {
  EnvironmentPlan plan{.version = wanted.version.value_or(""), .manifest = wanted.manifest};
  const auto build = common_build(nodes, wanted);
  if (build) std::tie(plan.version, plan.manifest) = *build;
  for (const EnvironmentStatus& node : nodes) {
    const FoundVersion* const found = find(node, wanted.name, plan.version);
    const bool has_it = build && found != nullptr && found->manifest == plan.manifest;
    plan.nodes.push_back({.discards = found != nullptr && !has_it,
                          .builds = false,
                          .unpacks = false,
                          .receives = !has_it,
                          .switches = !has_it || !found->current});
  }
  if (build) {
    const auto first = std::ranges::find(plan.nodes, false, &NodeSteps::receives);
    plan.source = static_cast<std::size_t>(first - plan.nodes.begin());
  } else {
    plan.source = builder_among(nodes, wanted);
    NodeSteps& steps = plan.nodes[plan.source];
    steps.builds = wanted.manifest.empty();
    steps.unpacks = !steps.builds;
    steps.receives = false;
  }
  return plan;
}

std::vector<std::string> describe(const EnvironmentPlan& plan, std::size_t node) {
  const NodeSteps& steps = plan.nodes[node];
  std::vector<std::string> out;
  if (steps.discards) out.emplace_back("remove the incomplete build");
  if (steps.builds) out.emplace_back("solve and build");
  if (steps.unpacks) out.emplace_back("unpack the archive");
  if (steps.receives) out.emplace_back("receive the build and verify it");
  if (steps.switches) out.emplace_back("switch to it");
  if (out.empty()) out.emplace_back("nothing: already installed");
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
  return misfit(lock.machine, lock.libc, node);
}

std::string shortage(const BuildSize& size, const EnvironmentStatus& node) {
  const Bytes free{node.free_bytes};
  const Bytes wanted{size.all.count - std::min(size.all.count, size.in_base.count)};
  if (free.count == 0 || wanted <= free) return "";
  const bool has_base = wanted < size.all;
  return "the build needs " + to_string(wanted) +
         (has_base ? " in addition to the current one" : "") + ", but only " + to_string(free) +
         " are free in " + node.prefix +
         ": free some space there, or choose another place with --prefix";
}

std::string accelerator_objection(const EnvironmentSpec& spec, const EnvironmentStatus& node,
                                  const Matrix& matrix) {
  if (spec.from.empty()) return "";
  const Accelerator accelerator = parse_environment_name(spec.from).accelerator;
  switch (accelerator.platform) {
    case Platform::cpu:
      return "";
    case Platform::cuda:
      return driver_objection(accelerator.version, node, matrix);
    case Platform::cann:  // A CANN that it installs itself is handled elsewhere.
      return spec.needs.cann ? "" : cann_objection(accelerator.version, node);
  }
  return "";
}

}  // namespace fastgpu::envs
