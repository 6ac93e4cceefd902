#include "comm/engine/planner.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/direct.hpp"
#include "comm/schedule/doubling.hpp"
#include "comm/schedule/ring.hpp"
#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {
namespace {

/// Half of a core's second cache: a piece is still there when it is sent on.
constexpr std::uint64_t kPieceInside = 256 << 10;
/// Long enough that its latency does not count, short enough to hide its reduction.
constexpr std::uint64_t kPieceAcross = 256 << 10;

constexpr int kMostPieces = 4096;

/// Shorter messages cost more for being messages than for their bytes.
constexpr std::uint64_t kWorthAMessage = 8 << 10;

/// Up to here the number of steps counts, and from here the number of bytes.
constexpr std::uint64_t kShortInside = 2 << 10;
constexpr std::uint64_t kShortAcross = 8 << 10;
/// The same for two or four ranks, which exchange everything in as few steps as they exchange
/// slices. Four send a third more bytes so, and save sixteen of 24 messages: 2 us of a processor
/// each are more than that from 25 Gbit/s on.
constexpr std::uint64_t kShortOfFew = 64 << 10;

/// Returns where the sums are divided. In most programs each sum is made on one rank, which also
/// divides it.
Averaging averaging_of(const SchedulePlan& plan) {
  switch (plan.algorithm == Algorithm::hierarchical ? plan.across : plan.algorithm) {
    case Algorithm::ring:
    case Algorithm::direct:
      return Averaging::of_sums;
    case Algorithm::recursive_doubling:
    case Algorithm::halving_doubling:
    case Algorithm::tree:
    case Algorithm::hierarchical:
      break;
  }
  return Averaging::at_end;
}

/// The bytes that all ranks together may send to one rank at once: if a queue before a link
/// overflows, TCP loses 200 ms.
constexpr std::uint64_t kMostAtOnce = 64 << 10;
/// Ranks of a machine that one can send the same to in the time of a tree's rounds.
constexpr int kFewOfNode = 8;
/// Ranks that one can exchange messages with in the time of a few steps.
constexpr int kFewPeers = 100;

/// More ranks than those exchange blocks up to here in fewer steps: the simulator (gathers of 128
/// to 512 ranks at 10 Gbit/s, 1 to 3 us a message) has 1 to 10 times the speed of a message to
/// each. From 1 KiB on, the bytes that are passed on cost more.
constexpr std::uint64_t kShortBlock = 512;

/// Ranks of a machine that share no memory exchange blocks up to here in fewer messages: four ranks
/// on two cores have 1.1 to 1.4 times the speed of a message to each.
constexpr std::uint64_t kShortOfMachine = 64 << 10;

/// Returns the algorithm for data that is not short, on machines with one rank each. Long slices
/// fill the links in a ring, in which each rank receives from one other rank alone. Shorter ones
/// are dominated by latency, and a ring has a step for every rank. docs/benchmarks/scale.md has the
/// times of each.
Algorithm between_machines(int ranks, std::uint64_t bytes) {
  if (ranks == 2) return Algorithm::direct;
  // Where ranks cannot all be paired, halving and doubling sends everything twice more.
  const std::uint64_t a_long_one =
      ranks > kFewPeers && std::has_single_bit(static_cast<unsigned>(ranks)) ? 4 * kPieceAcross
                                                                             : kPieceAcross;
  if (bytes / static_cast<std::uint64_t>(ranks) >= a_long_one) return Algorithm::ring;
  const bool fits_a_queue = bytes <= kMostAtOnce && ranks <= kFewPeers;
  return fits_a_queue ? Algorithm::direct : Algorithm::halving_doubling;
}

/// Between the leaders of nodes, each with its share of the data.
Algorithm between_leaders(int nodes, std::uint64_t share) {
  if (nodes <= kFewPeers) return Algorithm::direct;
  if (share <= kShortAcross) return Algorithm::recursive_doubling;
  const bool is_worth_it = share / static_cast<std::uint64_t>(nodes) >= kWorthAMessage;
  return is_worth_it ? Algorithm::direct : Algorithm::halving_doubling;
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
    if (size_of(call_.reduction.type) == 2) return Averaging::before;
    return call_.kind == CallKind::all_reduce ? averaging_of(all_reduce_plan()) : Averaging::at_end;
  }

  SchedulePlan all_reduce_plan() const {
    if (algorithm() != Algorithm::hierarchical)
      return {.algorithm = algorithm(), .cut = cut(longest_message())};
    const auto nodes = static_cast<int>(topology_.nodes.size());
    const std::uint64_t share = call_.bytes / static_cast<std::uint64_t>(topology_.largest_node());
    return {.algorithm = Algorithm::hierarchical,
            .cut = cut(share, kWorthAMessage * static_cast<std::uint64_t>(nodes)),
            .across = between_leaders(nodes, share)};
  }

  Program all_reduce() const {
    return comm::all_reduce(all_reduce_plan(), self_, topology_, count_);
  }

  Program broadcast() const {
    const bool is_passed_on = place_.ranks > 2;
    if (is_small_node() || !is_passed_on)
      return broadcast_directly(place_, call_.root.value, call_.bytes);
    const bool is_long = call_.bytes > kPieceAcross;
    return is_long && !is_inside_
               ? broadcast_by_chain(place_, call_.root.value, call_.bytes, cut(call_.bytes))
               : broadcast_by_tree(place_, call_.root.value, call_.bytes, cut(call_.bytes));
  }

  Program all_gather() const {
    return has_many_messages(call_.bytes) ? all_gather_blocks_by_doubling(place_, call_.bytes)
                                          : all_gather_blocks(place_, call_.bytes, cut_of_block());
  }

  /// Returns a program that reduces block `self` of every rank's input into this rank's data.
  Program reduce_scatter() const {
    const std::uint64_t block = count_ / static_cast<std::uint64_t>(place_.ranks);
    if (has_many_messages(block * size_of(call_.reduction.type)) &&
        std::has_single_bit(static_cast<unsigned>(place_.ranks)))
      return reduce_scatter_blocks_by_halving(place_, block);
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

  Program all_to_all() const { return comm::all_to_all(place_, call_.bytes, cut_of_block()); }

  Program barrier() const {
    return is_small_node() ? barrier_directly(place_) : comm::barrier(place_);
  }

  Program message(Direction direction) const {
    const int peer = call_.root.value;
    const std::uint8_t lane = message_lane(call_.moved);
    Program program;
    Writer writer(program);
    if (direction == Direction::out)
      writer.send(peer, {{Buffer::input, 0, call_.bytes}, lane});
    else
      writer.receive(peer, {whole_of(call_.bytes), lane});
    return program;
  }

 private:
  /// Returns the algorithm of an all-reduce.
  Algorithm algorithm() const {
    if (call_.plan.algorithm) return *call_.plan.algorithm;
    if (is_short()) return Algorithm::recursive_doubling;
    if (has_levels()) return Algorithm::hierarchical;
    return is_inside_ ? Algorithm::direct : between_machines(place_.ranks, call_.bytes);
  }

  /// Returns the bytes of the longest message of an all-reduce that is not cut.
  std::uint64_t longest_message() const {
    switch (algorithm()) {
      case Algorithm::ring:
      case Algorithm::direct:
        return call_.bytes / static_cast<std::uint64_t>(place_.ranks);
      case Algorithm::halving_doubling:
        return call_.bytes / 2;
      case Algorithm::hierarchical:
      case Algorithm::recursive_doubling:
      case Algorithm::tree:
        break;
    }
    return call_.bytes;
  }

  /// One machine, whose ranks are so few that each deals with each: there are no rounds, between
  /// which ranks that share a core would take turns on it.
  bool is_small_node() const { return is_inside_ && place_.ranks <= kFewOfNode; }

  /// Messages to each rank, one of `bytes` to each, would take longer than the steps of a program
  /// in which what is sent doubles. On one machine each message is work of the same cores.
  bool has_many_messages(std::uint64_t bytes) const {
    if (topology_.is_one_machine) return bytes <= kShortOfMachine;
    return !is_inside_ && place_.ranks > kFewPeers && bytes <= kShortBlock;
  }

  /// Several machines, of several ranks.
  bool has_levels() const { return !is_inside_ && topology_.largest_node() > 1; }

  bool is_short() const {
    if (is_inside_ || has_levels()) return call_.bytes <= kShortInside;
    const bool are_few = place_.ranks == 2 || place_.ranks == 4;
    return call_.bytes <= (are_few ? kShortOfFew : kShortAcross);
  }

  Cut cut(std::uint64_t slice, std::uint64_t shortest = 0) const {
    const std::uint64_t usual = is_inside_ ? kPieceInside : kPieceAcross;
    const std::uint64_t wanted =
        call_.plan.piece_log2 > 0 ? std::uint64_t{1} << (call_.plan.piece_log2 % 64) : usual;
    const std::uint64_t piece = std::max(shortest, wanted);
    const std::uint64_t pieces = (slice + piece - 1) / piece;
    return {.pieces = static_cast<int>(std::clamp<std::uint64_t>(pieces, 1, kMostPieces))};
  }

  /// Returns the pieces of a block that no rank passes on. Within a machine it moves as a whole:
  /// over TCP its receiver asks for each piece, and the cores that send the questions are those
  /// that move the bytes.
  Cut cut_of_block() const {
    return is_inside_ || topology_.is_one_machine ? Cut{} : cut(call_.bytes);
  }

  const Call& call_;
  Rank self_;
  const Topology& topology_;
  RankPlace place_;
  bool is_inside_;
  std::uint64_t count_;
};

}  // namespace

Topology topology_of(std::span<const Rank> group, const Topology& world) {
  std::vector<std::vector<Rank>> nodes(world.nodes.size());
  for (std::size_t i = 0; i < group.size(); ++i)
    nodes[static_cast<std::size_t>(world.node_of(group[i]))].push_back({static_cast<int>(i)});
  std::erase_if(nodes, [](const auto& node) { return node.empty(); });
  const bool is_one_machine = world.is_one_machine && nodes.size() > 1;
  return {std::move(nodes), is_one_machine};
}

SchedulePlan all_reduce_plan(const Call& call, const Topology& topology) {
  return Planner(call, Rank{0}, topology).all_reduce_plan();
}

PlannedCall plan_for(const Call& call, Rank self, const Topology& topology,
                     std::optional<Direction> direction) {
  const Planner planner(call, self, topology);
  switch (call.kind) {
    case CallKind::barrier:
      return {planner.barrier()};
    case CallKind::all_reduce:
      return {planner.all_reduce(), planner.averaging()};
    case CallKind::broadcast:
      return {planner.broadcast()};
    case CallKind::all_gather:
    case CallKind::split:
      return {planner.all_gather()};
    case CallKind::reduce_scatter:
      return {planner.reduce_scatter(), planner.averaging()};
    case CallKind::all_to_all:
      return {planner.all_to_all()};
    case CallKind::message:
      return {planner.message(direction.value())};
  }
  return {};
}

}  // namespace fastgpu::comm
