// Unfinished operations of runs that died, completed or undone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// The result for an intent, or for an object left behind.
struct Settled {
  std::string cluster;           ///< The cluster's name, or its identity if no name is known.
  std::string what;              ///< "finished its deletion", "orphan bridge fg-12ab"
  std::optional<Error> error{};  ///< The reason if it could not be settled.
};

enum class HalfMade : std::uint8_t {
  leave,   ///< Left for the user to repeat the creation or to delete the cluster.
  remove,  ///< Roll an unfinished creation back.
};

/// Settles one cluster whose lock the caller holds. Returns the actions; throws if it is not
/// possible. The cluster may be gone afterwards.
std::vector<Settled> settle_cluster(const Tools& tools, const state::Cluster& cluster,
                                    HalfMade half_made);

/// Settles every cluster that is not in use. One query if the journal is empty. Failures are in the
/// list; throws only if the state directory fails.
std::vector<Settled> settle(const Tools& tools, HalfMade half_made = HalfMade::leave);

}  // namespace fastgpu::provision
