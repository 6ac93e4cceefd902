// A cluster as the user wishes it, whatever place it is made in.
#pragma once

#include <string>

#include "base/names.hpp"

namespace fastgpu::provision {

constexpr int kMostNodes = 10'000;
constexpr int kMostSlots = 1'024;

struct ClusterSpec {
  ClusterName name;
  std::string provider = "local";
  int nodes = 1;
  int slots = 1;
  std::string user = "root";
  std::string spec_json = "{}";  ///< The provider's own part; opaque here.
};

/// Throws ErrorKind::usage for a name, a number of nodes or slots, or a user that cannot be.
void check_spec(const ClusterSpec& spec);

/// Throws ErrorKind::usage where `nodes` is not 1 to kMostNodes.
void check_node_count(int nodes);

}  // namespace fastgpu::provision
