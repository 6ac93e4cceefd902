// Which machines are asked for together. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "provision/cloud/cloud_spec.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Requests in the order of their indexes, cut where indexes are not next to each other, after
/// `most` of them, and between those with a public address and those without: one launch each.
std::vector<std::vector<NodeRequest>> batches(std::span<const NodeRequest> requests, int most,
                                              PublicAddress which = PublicAddress::all);

/// The idempotency token of a batch at a place: the same whenever the same nodes are asked for
/// there again. 32 hexadecimal digits.
std::string batch_token(std::span<const NodeRequest> batch, const Place& place);

/// The machine that is node `index`: of several (a token that a cloud did not honour) the one that
/// was launched first; null where there is none.
const Machine* machine_of(std::span<const Machine> machines, int index);

/// Returns the machine on record of a node, which the cloud knows by `id` whatever it is called by
/// now; where none is on record or that one is gone, the machine that is node `index`.
const Machine* machine_of(std::span<const Machine> machines, const std::string& id, int index);

/// As the provider interface has them; one that failed to start is told of as gone. Of several
/// machines for one node all but one, and all that are not at `place`, carry a token that no node
/// has, so that they count as strays. Those with another mark than `owner` say whose they are.
std::vector<Instance> instances_of(std::span<const Machine> machines, const Place& place,
                                   const std::string& owner,
                                   PublicAddress which = PublicAddress::all);

/// Whether it was asked for there.
bool is_at(const Machine& machine, const Place& place);

/// One that is to have no public address is reached at its private one.
Instance instance_of(const Machine& machine, PublicAddress which);

std::vector<std::string> ids_of(std::span<const Machine> machines);

/// The same ids in the same order, at most `most` together.
std::vector<std::vector<std::string>> chunks(std::span<const std::string> ids, std::size_t most);

}  // namespace fastgpu::provision::cloud
