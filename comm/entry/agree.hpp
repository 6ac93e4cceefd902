// What ranks agree on before the first step, and between steps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/entry/negotiation.hpp"
#include "comm/entry/settings.hpp"

namespace fastgpu::comm {

/// What all ranks must have in common.
struct Registration {
  const GradientTable& table;
  const EntrySettings& settings;
  std::string_view library = FASTGPU_VERSION;
};

/// A collective. Throws ErrorKind::usage, on every rank, naming the first rank whose library, whose
/// settings or whose gradients are not those of rank 0, and what differs.
void check_same_registration(Communicator& communicator, const Registration& mine);

/// A collective: the order in which gradients became ready on rank 0, `mine` there; what was not
/// ready keeps its place behind. Throws ErrorKind::remote where that is no order.
std::vector<GradientId> order_of_rank_0(Communicator& communicator, const GradientTable& table,
                                        const std::vector<GradientId>& mine);

/// What rank 0 has told as its order of so many gradients. Throws as order_of_rank_0 does.
std::vector<GradientId> decode_order(std::span<const std::uint64_t> numbers, std::size_t gradients);

/// The sentence for ranks that have gone different ways in one step, or what the stop was for.
std::string describe_differences(const std::vector<RankState>& ranks, const GradientTable& table);

/// "rank 2 has not made ready in step 7: 'fc.weight', 'fc.bias' and 12 more of 161 gradients"
std::string describe_late(const RankState& rank, const GradientTable& table);

/// "step 7: gradient 'fc.weight' of rank 2 has NaN at index 1234"
std::string describe(const NonFiniteReport& report, std::uint32_t step, const GradientTable& table);

}  // namespace fastgpu::comm
