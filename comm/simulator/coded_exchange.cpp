#include "comm/simulator/coded_exchange.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "comm/engine/planner.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/schedule/compose.hpp"
#include "comm/simulator/simulator.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint64_t kFloat = sizeof(float);

/// A step of all ranks, phase after phase.
class SimulatedStep {
 public:
  explicit SimulatedStep(Simulated simulated) : simulated_(std::move(simulated)) {
    simulated_.element_bytes = 1;
    simulated_.period = places();
    simulated_.starts.assign(static_cast<std::size_t>(places()), Seconds());
  }

  int nodes() const { return static_cast<int>(simulated_.topology.nodes.size()); }
  int places() const { return simulated_.topology.largest_node(); }

  /// Runs programs that are alike on all nodes.
  void run(const ProgramOf& program_of) {
    for (int rank = 0; rank < places(); ++rank)
      count_bytes(program_of({rank}));
    simulated_.starts = simulate(simulated_, program_of).ends;
  }

  /// Runs a call of the ranks of each node. `bytes` are those of Call.
  void run_inside(CallKind kind, std::uint64_t bytes) {
    if (places() == 1) return;
    const Topology inside = filled_nodes(places(), places());
    run([&](Rank self) {
      const int place = self.value % places();
      std::vector<Rank> ranks;
      for (int each = 0; each < places(); ++each)
        ranks.push_back({self.value - place + each});
      return on_group(program(kind, bytes, {place}, inside), ranks);
    });
  }

  /// Runs a call of the ranks that have the same place in each node.
  void run_across(CallKind kind, std::uint64_t bytes) {
    const Topology across = filled_nodes(nodes(), 1);
    run([&](Rank self) {
      std::vector<Rank> ranks;
      for (int node = 0; node < nodes(); ++node)
        ranks.push_back({node * places() + self.value % places()});
      return on_group(program(kind, bytes, {self.value / places()}, across), ranks);
    });
  }

  /// Keeps every rank busy.
  void compute(Seconds duration) {
    for (Seconds& start : simulated_.starts)
      start += duration;
  }

  ExchangeForecast forecast() const { return {std::ranges::max(simulated_.starts), bytes_out_}; }

 private:
  static Program program(CallKind kind, std::uint64_t bytes, Rank self, const Topology& topology) {
    const bool adds = kind == CallKind::reduce_scatter;
    const Reduction reduction{adds ? ElementType::float32 : ElementType::uint8, ReduceOp::sum};
    Call call{.kind = kind, .bytes = bytes, .reduction = reduction};
    Program planned = plan_for(call, self, topology).program;
    if (adds) in_bytes(planned);
    return planned;
  }

  /// Counts the elements of a program in bytes.
  static void in_bytes(Program& program) {
    for (Step& step : program.steps)
      for (Part* part : {&step.from, &step.to}) {
        part->offset *= kFloat;
        part->count *= kFloat;
      }
  }

  void count_bytes(const Program& program) {
    for (const Step& step : program.steps)
      if (step.kind == StepKind::send && step.peer.value >= places()) bytes_out_ += step.from.count;
  }

  Simulated simulated_;
  std::uint64_t bytes_out_ = 0;
};

/// Returns the bytes of a stretch of float32 numbers that is one of `parts`, rounded up.
std::uint64_t part_of(std::uint64_t bytes, int parts) {
  const std::uint64_t numbers = bytes / kFloat;
  const auto among = static_cast<std::uint64_t>(parts);
  return (numbers + among - 1) / among * kFloat;
}

}  // namespace

ExchangeForecast simulate_sum_of_codes(const Simulated& simulated, const SimulatedCodec& codec,
                                       std::uint64_t bytes) {
  SimulatedStep step(simulated);
  const auto encoder = make_codec(codec.choice);
  const std::uint64_t slice = part_of(bytes, step.places());
  const auto encode = [&](std::uint64_t of) {
    step.compute(codec.speed.encode.to_move(static_cast<double>(of)));
  };
  const auto add = [&](std::uint64_t codes, int ranks) {
    step.compute(codec.speed.add.to_move(static_cast<double>(codes) * ranks));
  };
  step.run_inside(CallKind::reduce_scatter, slice * static_cast<std::uint64_t>(step.places()));
  encode(slice);
  if (entry_of(codec.choice.id).is_dense && step.nodes() > 2) {
    const std::uint64_t part = part_of(slice, step.nodes());
    const std::uint64_t code = encoder->encoded_bytes(part / kFloat);
    step.run_across(CallKind::all_to_all, code);
    add(code, step.nodes());
    encode(part);
    step.run_across(CallKind::all_gather, code);
    add(code, step.nodes());
  } else {
    const std::uint64_t code = encoder->encoded_bytes(slice / kFloat);
    step.run_across(CallKind::all_gather, code);
    add(code, step.nodes());
  }
  step.run_inside(CallKind::all_gather, slice);
  return step.forecast();
}

ExchangeForecast simulate_gossip(const Simulated& simulated, const GossipTopology& topology,
                                 const std::optional<SimulatedCodec>& codec, std::uint64_t bytes) {
  SimulatedStep step(simulated);
  const std::uint64_t slice = part_of(bytes, step.places());
  const std::uint64_t message =
      codec ? make_codec(codec->choice)->encoded_bytes(slice / kFloat) : slice;
  const Weights weights = checked_weights(topology, step.nodes(), 0);
  step.run_inside(CallKind::reduce_scatter, slice * static_cast<std::uint64_t>(step.places()));
  // A code is added to the estimate of its sender, the own one too.
  if (codec) step.compute(codec->speed.encode.to_move(static_cast<double>(slice)));
  step.run([&](Rank self) {
    const int place = self.value % step.places();
    const MixingRow& row = weights.rows[static_cast<std::size_t>(self.value / step.places())];
    Program program;
    Writer writer(program);
    for (const int member : row.to)
      writer.send(member * step.places() + place, {{Buffer::input, 0, message}, 0});
    std::uint64_t at = 0;
    for (const auto& from : row.from) {
      writer.receive(from.member * step.places() + place, {{Buffer::scratch, at, message}, 0});
      at += message;
    }
    return program;
  });
  const auto neighbours = static_cast<double>(weights.rows.front().from.size());
  const auto numbers = static_cast<double>(slice);
  if (codec)
    step.compute(codec->speed.add.to_move(static_cast<double>(message) * (neighbours + 1)));
  step.compute(simulated.network.reduce.to_move(numbers * neighbours));
  step.run_inside(CallKind::all_gather, slice);
  return step.forecast();
}

ExchangeForecast simulate_all_reduce(const Simulated& simulated, std::uint64_t bytes) {
  const Topology& topology = simulated.topology;
  const Call call{.kind = CallKind::all_reduce,
                  .bytes = bytes,
                  .reduction = {ElementType::float32, ReduceOp::sum}};
  const auto program_of = [&](Rank self) { return plan_for(call, self, topology).program; };
  Simulated each = simulated;
  each.element_bytes = kFloat;
  const SchedulePlan plan = all_reduce_plan(call, topology);
  const Algorithm outer = plan.algorithm == Algorithm::hierarchical ? plan.across : plan.algorithm;
  const bool is_alike = outer == Algorithm::ring || outer == Algorithm::direct;
  each.period = is_alike ? topology.largest_node() : 0;
  ExchangeForecast forecast{.duration = simulate(each, program_of).duration};
  for (int rank = 0; rank < topology.largest_node(); ++rank)
    for (const Step& step : program_of({rank}).steps)
      if (step.kind == StepKind::send && step.peer.value >= topology.largest_node())
        forecast.bytes_out += step.from.count * kFloat;
  return forecast;
}

}  // namespace fastgpu::comm
