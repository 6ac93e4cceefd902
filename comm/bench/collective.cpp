#include "comm/bench/collective.hpp"

#include <algorithm>

namespace fastgpu::comm::bench {
namespace {

bool has_blocks(Collective collective) noexcept {
  return collective == Collective::reduce_scatter || collective == Collective::all_gather ||
         collective == Collective::all_to_all;
}

}  // namespace

std::string_view name_of(Collective collective) noexcept {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_gather:
      return "all_gather";
    case Collective::broadcast:
      return "broadcast";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::message:
      return "message";
    case Collective::barrier:
      return "barrier";
  }
  return "unknown collective";
}

std::optional<Collective> find_collective(std::string_view name) noexcept {
  for (const Collective collective : kCollectives)
    if (name_of(collective) == name) return collective;
  return std::nullopt;
}

std::optional<ElementType> find_type(std::string_view name) noexcept {
  for (const ElementType type : kTypes)
    if (comm::name_of(type) == name) return type;
  return std::nullopt;
}

bool is_reduction(Collective collective) noexcept {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

double bus_factor(Collective collective, int ranks) noexcept {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * others;
    case Collective::reduce_scatter:
    case Collective::all_gather:
    case Collective::all_to_all:
      return others;
    case Collective::broadcast:
    case Collective::message:
      return 1;
    case Collective::barrier:
      return 0;
  }
  return 0;
}

std::uint64_t usable_bytes(const Call& call, int ranks, Bytes wanted) noexcept {
  if (call.collective == Collective::barrier) return 0;
  const std::uint64_t unit =
      size_of(call.type) * (has_blocks(call.collective) ? static_cast<std::uint64_t>(ranks) : 1);
  return std::max<std::uint64_t>(wanted.count / unit, 1) * unit;
}

Call placed(Call call, int ranks, Bytes wanted, std::span<std::byte> memory) noexcept {
  const std::uint64_t whole = usable_bytes(call, ranks, wanted);
  const std::uint64_t block = whole / static_cast<std::uint64_t>(ranks);
  const auto first = memory.first(whole);
  const auto second = memory.subspan(memory.size() / 2, whole);
  call.in = call.collective == Collective::all_gather ? first.first(block) : first;
  call.out = call.in;
  if (call.collective == Collective::reduce_scatter) call.out = second.first(block);
  if (call.collective == Collective::all_gather || call.collective == Collective::all_to_all)
    call.out = second;
  return call;
}

}  // namespace fastgpu::comm::bench
