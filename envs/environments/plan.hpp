// What has to be done so that every node has an environment: decided from what lies there. Pure.
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

/// What is wanted: some build of that spec, or just that one.
struct WantedEnvironment {
  std::string name;
  std::string spec;                      ///< Its sum.
  std::optional<std::string> version{};  ///< Where a lock was given; so are the next two.
  std::string machine{};                 ///< "x86_64"
  std::string libc{};                    ///< "glibc 2.36"
  std::string manifest{};                ///< Of the one build that an archive has; else empty.
};

/// One node's part.
struct NodeSteps {
  bool discards = false;  ///< What a killed run left, or what is not as on the others.
  bool builds = false;
  bool unpacks = false;  ///< From an archive that is here.
  bool receives = false;
  bool switches = false;

  bool any() const noexcept { return discards || builds || unpacks || receives || switches; }
};

struct EnvironmentPlan {
  std::string version{};   ///< That all will have; empty where solving will tell.
  std::string manifest{};  ///< Its sum where some node has it already, or an archive.
  std::size_t source = 0;  ///< The node that has it, or that builds or unpacks it.
  std::vector<NodeSteps> nodes{};

  bool must_build() const noexcept { return manifest.empty(); }
  bool must_unpack() const noexcept { return !nodes.empty() && nodes[source].unpacks; }
  bool done() const noexcept;
};

/// `nodes` in their order, at least one. A build that most nodes have is taken for the rest. Where
/// there is none, the node with the oldest C library builds, among those with the processor that
/// most have.
EnvironmentPlan plan_environment(std::span<const agent::EnvironmentStatus> nodes,
                                 const WantedEnvironment& wanted);

/// The steps of one node in words; one sentence where there is nothing to do.
std::vector<std::string> describe(const EnvironmentPlan& plan, std::size_t node);

/// A complete build other than this one that all these nodes have: most of its files may be the
/// same. Best one of the same environment, and one in use.
std::optional<agent::FoundVersion> build_in_common(std::span<const agent::EnvironmentStatus> nodes,
                                                   const std::string& name,
                                                   const std::string& version);

/// Why a lock does not fit a node: another processor, an older C library; empty where it does.
std::string misfit(const EnvironmentLock& lock, const agent::EnvironmentStatus& node);

struct BuildSize {
  Bytes all{};
  Bytes in_base{};  ///< Of files that another build there has: they become links to those.
};

/// Why a build of that size has no room on a node; empty where it has, as far as is known.
std::string shortage(const BuildSize& size, const agent::EnvironmentStatus& node);

/// Why what the environment's name says that it computes on does not work on a node: a driver that
/// is too old for its CUDA, no CANN or another one. Empty where it works, as far as is known.
std::string accelerator_objection(const EnvironmentSpec& spec, const agent::EnvironmentStatus& node,
                                  const Matrix& matrix);

}  // namespace fastgpu::envs
