// Brings a build from the node that has it to those that lack it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "envs/environments/build_copy.hpp"
#include "envs/environments/install_targets.hpp"

namespace fastgpu::envs {

class Distribution {
 public:
  explicit Distribution(InstallTargets& nodes) : nodes_(nodes) {}

  /// Returns the nodes that can get the build while it is made. Empty if they have another build,
  /// and lack only the difference.
  InstallTargets::Nodes early_receivers(const EnvironmentLock& lock) const;
  /// Returns the arguments of the building node about the way to them.
  std::vector<std::string> early_way(const InstallTargets::Nodes& receivers);

  /// Copies the build, which has `size` bytes, to all nodes that lack it and receive it in the
  /// plan. A small difference to another build goes through this machine. Otherwise it goes by
  /// chains from node to node, and through this machine to nodes that no chain has reached.
  void copy(Bytes size);

 private:
  using Nodes = InstallTargets::Nodes;

  const remote::NodeRoute& route();
  std::vector<Receiver> chain_of(const Nodes& receivers) const;
  BuildCopy build_copy() const;
  void leave_out_full_ones(Nodes& receivers, Bytes size);
  Bytes bytes_in(const std::filesystem::path& base) const;
  std::filesystem::path base_of(const Nodes& receivers) const;
  Nodes give_what_is_new(Nodes receivers, BuildCopy what, Bytes size);
  Nodes relay_to_all(Nodes receivers, const BuildCopy& what);
  Nodes relay(const Nodes& receivers, const BuildCopy& what);
  void copy_by_way_of_us(const Nodes& receivers, const BuildCopy& what);

  InstallTargets& nodes_;
  std::optional<remote::NodeRoute> route_;
};

}  // namespace fastgpu::envs
