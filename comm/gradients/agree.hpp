// The agreement of ranks before the first step, and between steps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/gradients/negotiation.hpp"
#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

/// The data that all ranks must have in common.
struct GradientRegistration {
  const GradientTable& table;
  const GradientSettings& settings;
  std::string_view library = FASTGPU_VERSION;
  ReduceOp op = ReduceOp::average;
  std::uint64_t steps = 0;  ///< The steps of its codec, if its state counts.
  std::uint64_t order = 0;  ///< A fingerprint of the order that a saved state gives it.
};

/// Compares registrations, by a collective call. Throws ErrorKind::usage, on every rank, naming the
/// difference and the first rank whose library, settings, operation, gradients or steps are not
/// those of rank 0. Returns true, on every rank, if all of them have one order.
bool check_same_registration(Communicator& communicator, const GradientRegistration& mine);

/// Returns a number that differs if two orders do, or if one is absent.
std::uint64_t fingerprint_of(const std::optional<std::vector<GradientId>>& order);

/// Returns the order that rank 0 has from a saved state, `mine` there, by a collective call. Absent
/// if rank 0 has none. Throws as order_of_rank_0 does.
std::optional<std::vector<GradientId>> saved_order_of_rank_0(
    Communicator& communicator, const GradientTable& table,
    const std::optional<std::vector<GradientId>>& mine);

/// Returns the order in which gradients became ready on rank 0, `mine` there, by a collective call.
/// A gradient that was not ready keeps its place behind the others. Throws ErrorKind::remote if the
/// answer is not an order of all gradients.
std::vector<GradientId> order_of_rank_0(Communicator& communicator, const GradientTable& table,
                                        const std::vector<GradientId>& mine);

/// Decodes an order of so many gradients from rank 0. Throws as order_of_rank_0 does.
std::vector<GradientId> decode_order(std::span<const std::uint64_t> numbers, std::size_t gradients);

/// Returns the sentence for ranks that have diverged in one step, or the reason for the stop.
std::string describe_differences(const std::vector<RankState>& ranks, const GradientTable& table);

/// Returns the first rank that this sentence names.
Rank odd_rank_in(const std::vector<RankState>& ranks, const GradientTable& table);

/// Returns "rank 2 has not made ready in step 7: 'fc.weight', 'fc.bias' and 12 more of 161
/// gradients".
std::string describe_late(const RankState& rank, const GradientTable& table);

}  // namespace fastgpu::comm
