// A cluster as the user wishes it, whatever place it is made in.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/money.hpp"
#include "base/names.hpp"

namespace fastgpu::provision {

constexpr int kMostNodes = 10'000;
constexpr int kMostSlots = 1'024;

/// What happens where no place has room for all nodes together.
struct Holding {
  int least = 0;                     ///< With so many nodes a cluster may begin; 0: with all.
  std::chrono::seconds longest{0};   ///< So long others are sought while some are held.
  std::optional<Money> most_cost{};  ///< For which the held ones may stand idle meanwhile.
};

struct ClusterSpec {
  ClusterName name;
  std::string provider = "local";
  int nodes = 1;
  int slots = 1;
  std::string user = "root";
  std::string spec_json = "{}";  ///< The provider's own part; opaque here.
  Holding holding{};

  int least_nodes() const { return holding.least > 0 ? holding.least : nodes; }
};

/// Throws ErrorKind::usage for a name, numbers of nodes or slots, or a user that cannot be.
void check_spec(const ClusterSpec& spec);

/// Throws ErrorKind::usage where `nodes` is not 1 to kMostNodes.
void check_node_count(int nodes);

}  // namespace fastgpu::provision
