// Unfinished business of runs that died, put right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// What became of an intent, or of something left behind.
struct Settled {
  std::string cluster;           ///< Its name, or its identity where no name is known.
  std::string what;              ///< "finished its deletion", "orphan bridge fg-12ab"
  std::optional<Error> error{};  ///< Why it could not be put right, where it could not.
};

enum class HalfMade : std::uint8_t {
  leave,   ///< For the user to repeat the creation or to delete the cluster.
  remove,  ///< Roll an unfinished creation back.
};

/// Settles one cluster whose lock the caller holds. Returns what was done; throws where it cannot
/// be. The cluster may be gone afterwards.
std::vector<Settled> settle_cluster(const Tools& tools, const state::Cluster& cluster,
                                    HalfMade half_made);

/// Settles every cluster that nobody is working on. One query where the journal is empty. Failures
/// are in the list; throws only where the state directory fails.
std::vector<Settled> settle(const Tools& tools, HalfMade half_made = HalfMade::leave);

}  // namespace fastgpu::provision
