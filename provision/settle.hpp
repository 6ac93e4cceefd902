// Completes or undoes the unfinished operations of killed runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/outcome.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// The result for an intent, or for an object that was left behind.
struct Settled {
  std::string cluster;      ///< The cluster's name, or its identity if no name is known.
  std::string what;         ///< "finished its deletion", "orphan bridge fg-12ab"
  Outcome<void> outcome{};  ///< The reason if it could not be settled.
};

enum class HalfMade : std::uint8_t {
  leave,   ///< Leaves it: the user repeats the creation or deletes the cluster.
  remove,  ///< Rolls an unfinished creation back.
};

/// Settles one cluster whose lock the caller holds. Returns the actions; throws if one fails. The
/// cluster may be gone afterwards.
std::vector<Settled> settle_cluster(const Tools& tools, const state::Cluster& cluster,
                                    HalfMade half_made);

/// Settles one cluster, unless it is gone or in use. Failures are in the list.
std::vector<Settled> settle_unless_in_use(const Tools& tools, const state::ClusterId& cluster,
                                          HalfMade half_made);

/// Settles every cluster that is not in use. Makes only one query if the journal is empty. Failures
/// are in the list; throws only if the state directory fails.
std::vector<Settled> settle(const Tools& tools, HalfMade half_made = HalfMade::leave);

}  // namespace fastgpu::provision
