// Questions about the cloud's part of a cluster, which the record has typed (state/cloud_spec.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

/// Returns the price of one machine of a cluster for an hour at its place, as it was when it was
/// planned.
std::optional<Money> price_of(const state::Cluster& cluster);

}  // namespace fastgpu::provision::cloud
