// The grouping of machines into launches. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "provision/cloud/cloud_spec.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Returns the requests in batches, one launch each, in the order of their indexes. A batch has
/// consecutive indexes, at most `most` requests, and either only nodes with a public address or
/// only nodes without one.
std::vector<std::vector<NodeRequest>> batches(std::span<const NodeRequest> requests, int most,
                                              PublicAddress which = PublicAddress::all);

/// Returns the idempotency token of a batch at a place, 32 hexadecimal digits. The same nodes at
/// the same place always give the same token.
std::string batch_token(std::span<const NodeRequest> batch, const Place& place);

/// Returns the living machine that is node `index`; null without one. If a cloud ignored a token
/// and there are several, the one that was launched first counts.
const Machine* machine_of(std::span<const Machine> machines, int index);

/// Returns the living machine that is node `index`. Without one, returns the living machine with
/// `id`, the identity on record, whatever its tags are now; null if that is gone, too.
const Machine* machine_of(std::span<const Machine> machines, const std::string& id, int index);

/// Returns the machines in the form of the provider interface; one that failed to start counts as
/// gone. One that has ended is returned as gone if no other one has its index. All living machines
/// at other places, and all but one of several for the same node, get a token that no node has, so
/// that they count as strays. Machines of other owners than `owner` get that owner's name.
std::vector<Instance> instances_of(std::span<const Machine> machines, const Place& place,
                                   const std::string& owner,
                                   PublicAddress which = PublicAddress::all);

/// Returns true if the machine was requested at that place.
bool is_at(const Machine& machine, const Place& place);

/// Returns one machine in the form of the provider interface. A machine without a public address is
/// reached at its private one.
Instance instance_of(const Machine& machine, PublicAddress which);

std::vector<std::string> ids_of(std::span<const Machine> machines);

/// Returns the ids in groups of at most `most`, in the same order.
std::vector<std::vector<std::string>> chunks(std::span<const std::string> ids, std::size_t most);

}  // namespace fastgpu::provision::cloud
