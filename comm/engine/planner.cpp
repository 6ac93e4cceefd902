#include "comm/engine/planner.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/direct.hpp"
#include "comm/schedule/ring.hpp"
#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {
namespace {

/// Half of a core's second cache: a piece is still there when it is sent on.
constexpr std::uint64_t kPieceInside = 256 << 10;
/// Long enough that its latency does not count, short enough to hide its reduction.
constexpr std::uint64_t kPieceAcross = 256 << 10;

constexpr int kMostPieces = 4096;

/// Up to here the number of messages counts, and from here the number of bytes.
constexpr std::uint64_t kShortInside = 2 << 10;
constexpr std::uint64_t kShortAcross = 32 << 10;

/// The lane of messages between two ranks, which no collective uses.
constexpr std::uint8_t kMessageLane = 255;

/// In the others every sum is made on one rank alone, which divides it.
Averaging averaging_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::direct:
    case Algorithm::hierarchical:
      return Averaging::of_sums;
    case Algorithm::recursive_doubling:
    case Algorithm::halving_doubling:
    case Algorithm::tree:
      break;
  }
  return Averaging::at_end;
}

/// A program for one call.
class Planner {
 public:
  Planner(const Call& call, Rank self, const Topology& topology)
      : call_(call),
        self_(self),
        topology_(topology),
        place_{self.value, topology.ranks()},
        is_inside_(topology.nodes.size() == 1),
        count_(call.bytes / size_of(call.reduction.type)) {}

  Averaging averaging() const {
    if (call_.reduction.op != ReduceOp::average) return Averaging::none;
    return call_.kind == CallKind::all_reduce ? averaging_of(algorithm()) : Averaging::at_end;
  }

  Program all_reduce() const {
    const Plan plan{.algorithm = algorithm(), .cut = cut(longest_message())};
    return comm::all_reduce(plan, self_, topology_, count_);
  }

  Program broadcast() const {
    const bool is_long = call_.bytes > kPieceAcross;
    return is_long && !is_inside_
               ? broadcast_by_chain(place_, call_.root.value, call_.bytes, cut(call_.bytes))
               : broadcast_by_tree(place_, call_.root.value, call_.bytes, cut(call_.bytes));
  }

  Program all_gather() const {
    Program program;
    const auto block = static_cast<std::uint64_t>(place_.self) * call_.bytes;
    Writer(program).copy({Buffer::data, block, call_.bytes}, {Buffer::input, 0, call_.bytes});
    const std::uint64_t whole = call_.bytes * static_cast<std::uint64_t>(place_.ranks);
    append(program, all_gather_directly(place_, whole, cut(call_.bytes)));
    return program;
  }

  /// Block `self` of everybody's input ends up in this rank's data.
  Program reduce_scatter() const {
    const std::uint64_t block = count_ / static_cast<std::uint64_t>(place_.ranks);
    const Part mine{Buffer::data, 0, block};
    const auto block_of = [&](int rank) {
      return Part{Buffer::input, block * static_cast<std::uint64_t>(rank), block};
    };
    const Cut pieces = cut(call_.bytes / static_cast<std::uint64_t>(place_.ranks));
    Program program;
    Writer writer(program);
    for (int piece = 0; piece < pieces.pieces; ++piece) {
      writer.copy(piece_of(mine, piece, pieces).part,
                  piece_of(block_of(place_.self), piece, pieces).part);
      for (int by = 1; by < place_.ranks; ++by) {
        writer.send(place_.right(by), piece_of(block_of(place_.right(by)), piece, pieces));
        writer.receive_reduce(place_.left(by), piece_of(mine, piece, pieces));
      }
    }
    return program;
  }

  Program all_to_all() const { return comm::all_to_all(place_, call_.bytes, cut(call_.bytes)); }

  Program barrier() const { return comm::barrier(place_); }

  Program message(Way way) const {
    const int peer = call_.root.value;
    Program program;
    Writer writer(program);
    if (way == Way::out)
      writer.send(peer, {{Buffer::input, 0, call_.bytes}, kMessageLane});
    else
      writer.receive(peer, {whole_of(call_.bytes), kMessageLane});
    return program;
  }

 private:
  /// Of an all-reduce.
  Algorithm algorithm() const {
    if (call_.algorithm) return *call_.algorithm;
    if (is_short()) return Algorithm::recursive_doubling;
    if (!is_inside_ && topology_.largest_node() > 1) return Algorithm::hierarchical;
    return is_inside_ || place_.ranks == 2 ? Algorithm::direct : Algorithm::ring;
  }

  /// Of an all-reduce that is not cut, in bytes.
  std::uint64_t longest_message() const {
    switch (algorithm()) {
      case Algorithm::ring:
      case Algorithm::direct:
        return call_.bytes / static_cast<std::uint64_t>(place_.ranks);
      case Algorithm::hierarchical:
        return call_.bytes / static_cast<std::uint64_t>(topology_.largest_node());
      case Algorithm::halving_doubling:
        return call_.bytes / 2;
      case Algorithm::recursive_doubling:
      case Algorithm::tree:
        break;
    }
    return call_.bytes;
  }

  bool is_short() const { return call_.bytes <= (is_inside_ ? kShortInside : kShortAcross); }

  Cut cut(std::uint64_t slice) const {
    const std::uint64_t piece = is_inside_ ? kPieceInside : kPieceAcross;
    const std::uint64_t pieces = (slice + piece - 1) / piece;
    return {.pieces = static_cast<int>(std::clamp<std::uint64_t>(pieces, 1, kMostPieces))};
  }

  const Call& call_;
  Rank self_;
  const Topology& topology_;
  Place place_;
  bool is_inside_;
  std::uint64_t count_;
};

}  // namespace

Topology topology_of(std::span<const Rank> group, const Topology& world) {
  std::vector<std::vector<Rank>> nodes(world.nodes.size());
  for (std::size_t i = 0; i < group.size(); ++i)
    nodes[static_cast<std::size_t>(world.node_of(group[i]))].push_back({static_cast<int>(i)});
  std::erase_if(nodes, [](const auto& node) { return node.empty(); });
  return {std::move(nodes)};
}

Planned plan_for(const Call& call, Rank self, const Topology& topology, Way way) {
  const Planner planner(call, self, topology);
  switch (call.kind) {
    case CallKind::barrier:
      return {planner.barrier()};
    case CallKind::all_reduce:
      return {planner.all_reduce(), planner.averaging()};
    case CallKind::broadcast:
      return {planner.broadcast()};
    case CallKind::all_gather:
      return {planner.all_gather()};
    case CallKind::reduce_scatter:
      return {planner.reduce_scatter(), planner.averaging()};
    case CallKind::all_to_all:
      return {planner.all_to_all()};
    case CallKind::message:
      return {planner.message(way)};
  }
  return {};
}

}  // namespace fastgpu::comm
