#include "comm/bench/collective.hpp"

#include <algorithm>

namespace fastgpu::comm::bench {
namespace {

bool has_blocks(BenchCollective collective) noexcept {
  return collective == BenchCollective::reduce_scatter ||
         collective == BenchCollective::all_gather || collective == BenchCollective::all_to_all;
}

}  // namespace

std::string_view name_of(BenchCollective collective) noexcept {
  switch (collective) {
    case BenchCollective::all_reduce:
      return "all_reduce";
    case BenchCollective::reduce_scatter:
      return "reduce_scatter";
    case BenchCollective::all_gather:
      return "all_gather";
    case BenchCollective::broadcast:
      return "broadcast";
    case BenchCollective::all_to_all:
      return "all_to_all";
    case BenchCollective::message:
      return "message";
    case BenchCollective::ping_pong:
      return "ping_pong";
    case BenchCollective::barrier:
      return "barrier";
  }
  return "unknown collective";
}

std::optional<BenchCollective> find_collective(std::string_view name) noexcept {
  for (const BenchCollective collective : kCollectives)
    if (name_of(collective) == name) return collective;
  return std::nullopt;
}

std::optional<ElementType> find_type(std::string_view name) noexcept {
  for (const ElementType type : kTypes)
    if (comm::name_of(type) == name) return type;
  return std::nullopt;
}

bool is_reduction(BenchCollective collective) noexcept {
  return collective == BenchCollective::all_reduce || collective == BenchCollective::reduce_scatter;
}

bool is_of_two_ranks(BenchCollective collective) noexcept {
  return collective == BenchCollective::message || collective == BenchCollective::ping_pong;
}

double bus_factor(BenchCollective collective, int ranks) noexcept {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case BenchCollective::all_reduce:
      return 2 * others;
    case BenchCollective::reduce_scatter:
    case BenchCollective::all_gather:
    case BenchCollective::all_to_all:
      return others;
    case BenchCollective::broadcast:
    case BenchCollective::message:
    case BenchCollective::ping_pong:
      return 1;
    case BenchCollective::barrier:
      return 0;
  }
  return 0;
}

std::uint64_t usable_bytes(const BenchCall& call, int ranks, Bytes wanted) noexcept {
  if (call.collective == BenchCollective::barrier) return 0;
  const std::uint64_t unit =
      size_of(call.type) * (has_blocks(call.collective) ? static_cast<std::uint64_t>(ranks) : 1);
  return std::max<std::uint64_t>(wanted.count / unit, 1) * unit;
}

BenchCall placed(BenchCall call, int ranks, Bytes wanted, std::span<std::byte> memory) noexcept {
  const std::uint64_t whole = usable_bytes(call, ranks, wanted);
  const std::uint64_t block = whole / static_cast<std::uint64_t>(ranks);
  const auto first = memory.first(whole);
  const auto second = memory.subspan(memory.size() / 2, whole);
  call.in = call.collective == BenchCollective::all_gather ? first.first(block) : first;
  call.out = call.in;
  if (call.collective == BenchCollective::reduce_scatter) call.out = second.first(block);
  if (call.collective == BenchCollective::all_gather ||
      call.collective == BenchCollective::all_to_all ||
      call.collective == BenchCollective::ping_pong)
    call.out = second;
  return call;
}

}  // namespace fastgpu::comm::bench
