// Questions about the cloud's part of a cluster, which the record has typed (state/cloud_spec.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/model.hpp"
#include "state/model.hpp"

namespace fastgpu::provision::cloud {

using state::CloudPlacement;
using state::CloudSpec;
using state::parse_public_address;
using state::Place;
using state::PublicAddress;

/// The index of the node through which a cluster with one public address is reached.
constexpr int kHead = 0;
bool has_public_address(PublicAddress which, int index) noexcept;

/// Returns the storage of every node of such a cluster in `cloud`, beside its system disk.
Storage storage_of(const CloudSpec& spec, std::string_view cloud);

/// Returns the difference between a cluster made from `there` and a request for `wanted`, whatever
/// offers were found: "with type gn7e, not gn6v". Empty if they agree.
std::string difference(const CloudSpec& there, const CloudSpec& wanted);

/// Returns the place of the placement. Throws ErrorKind::local if the record is damaged.
Place place_of(const CloudSpec& spec, const CloudPlacement& placement);
Place place_of(const state::Cluster& cluster);

/// Returns the regions of all planned places, each once.
std::vector<std::string> regions_of(const state::Cluster& cluster);

/// Returns the parts on record that belong to the cluster alone, without a network of the user.
state::Parts own_parts(const state::Cluster& cluster);

/// Returns the user's own network, by the id on record if there is one, because its name may have
/// changed. Empty for a network of the cluster's own.
std::string user_vpc(const CloudSpec& spec, const CloudPlacement& placement);

/// Returns the price of one machine of a cluster for an hour at its place, as it was when it was
/// planned.
std::optional<Money> price_of(const state::Cluster& cluster);

}  // namespace fastgpu::provision::cloud
