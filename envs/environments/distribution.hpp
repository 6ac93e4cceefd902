// A build on its way from the node that has it to those that lack it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "envs/environments/build_copy.hpp"
#include "envs/environments/participants.hpp"

namespace fastgpu::envs {

class Distribution {
 public:
  explicit Distribution(Participants& nodes) : nodes_(nodes) {}

  /// Those that can get the build while it is made. None where they have another, of which they
  /// lack only what is new.
  Participants::Nodes early_receivers(const EnvironmentLock& lock) const;
  /// What whoever builds is told of the way to them.
  std::vector<std::string> early_way(const Participants::Nodes& receivers);

  /// To all that the plan gives it to and that lack it, of so many bytes: what is new beside
  /// another build by way of this machine, where that is little; else by chains from node to node,
  /// and to whoever no chain has reached by way of this machine.
  void copy(Bytes size);

 private:
  using Nodes = Participants::Nodes;

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

  Participants& nodes_;
  std::optional<remote::NodeRoute> route_;
};

}  // namespace fastgpu::envs
