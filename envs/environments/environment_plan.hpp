// The steps after which every node has an environment, planned from the builds on the nodes. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/environment.hpp"
#include "base/units.hpp"
#include "envs/environments/lock.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::envs {

/// The wanted environment: any build of that spec, or one certain build.
struct WantedEnvironment {
  std::string name;
  std::string spec;                      ///< The SHA-256 of the spec.
  std::optional<std::string> version{};  ///< Present with a lock, like the next two.
  std::string machine{};                 ///< "x86_64"
  std::string libc{};                    ///< "glibc 2.36"
  /// The manifest of the only build in an archive; else empty.
  std::string manifest{};
};

/// One node's part.
struct NodeSteps {
  bool discards = false;  ///< Leftovers of a killed run, or a build that differs from the others'.
  bool builds = false;
  bool unpacks = false;  ///< Unpacks an archive of this machine.
  bool receives = false;
  bool switches = false;

  bool any() const noexcept { return discards || builds || unpacks || receives || switches; }
};

struct EnvironmentPlan {
  std::string version{};  ///< The version for all nodes; empty if it follows from solving.
  /// The SHA-256 of its manifest if some node has it already, or an archive.
  std::string manifest{};
  std::size_t source = 0;  ///< The node that has it, or that builds or unpacks it.
  std::vector<NodeSteps> nodes{};

  bool must_build() const noexcept { return manifest.empty(); }
  bool must_unpack() const noexcept { return !nodes.empty() && nodes[source].unpacks; }
  bool done() const noexcept;
};

/// Plans for `nodes`, at least one, in their order. A build that most nodes have is used for the
/// rest. Without one, a node of the most common processor builds: the one with the oldest C
/// library.
EnvironmentPlan plan_environment(std::span<const agent::EnvironmentStatus> nodes,
                                 const WantedEnvironment& wanted);

/// Returns the steps of one node in words; one sentence without any.
std::vector<std::string> describe(const EnvironmentPlan& plan, std::size_t node);

/// Returns a complete build other than this one that all these nodes have: most of its files may be
/// equal. Prefers one of the same environment, and one in use.
std::optional<agent::FoundVersion> build_in_common(std::span<const agent::EnvironmentStatus> nodes,
                                                   const std::string& name,
                                                   const std::string& version);

/// Returns why a lock does not fit a node: another processor, an older C library; empty if it fits.
std::string misfit(const EnvironmentLock& lock, const agent::EnvironmentStatus& node);

struct BuildSize {
  Bytes all{};
  Bytes in_base{};  ///< The size of files that another build there has: they become links to those.
};

/// Returns why a build of that size does not fit on a node's disk; empty if it does, as far as is
/// known.
std::string shortage(const BuildSize& size, const agent::EnvironmentStatus& node);

/// Returns why the accelerator in the environment's name does not work on a node: a driver that is
/// too old for its CUDA, no CANN or another one. Empty if it works, as far as is known.
std::string accelerator_objection(const EnvironmentSpec& spec, const agent::EnvironmentStatus& node,
                                  const Matrix& matrix);

}  // namespace fastgpu::envs
