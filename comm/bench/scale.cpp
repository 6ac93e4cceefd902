// Predicts collectives and negotiation beyond the machines at hand: `comm_scale report` for the
// tables of docs/benchmarks/scale.md, `comm_scale networks` for those of other networks alone,
// `comm_scale exchanges` for those of codecs and gossip, `comm_scale case --help` for one of your
// own. All print JSON.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/bench/scale_case.hpp"
#include "comm/bench/scale_report.hpp"
#include "comm/engine/planner.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/schedule/choose.hpp"
#include "comm/schedule/doubling.hpp"
#include "comm/simulator/coded_exchange.hpp"
#include "comm/simulator/formulas.hpp"
#include "comm/simulator/negotiation.hpp"
#include "comm/simulator/simulator.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

constexpr int kMostLanes = 4;
constexpr int kMostPieces = 16;        // Bounds the memory of a simulation.
constexpr std::uint64_t kElement = 4;  // float32
constexpr std::array kRanks{64, 128, 256, 512, 1024, 2048, 4096};
constexpr std::array<std::uint64_t, 3> kSizes{64ULL << 10, 4ULL << 20, 100ULL << 20};

/// Returns a cloud of today: 32 Gbit/s a node, 10 Gbit/s a flow, ranks that reduce on their
/// processors.
NetworkModel cloud() {
  return {.inside = {.latency = 1us, .flow = gigabytes(8), .shared = gigabytes(64)},
          .across = {.latency = 25us, .flow = gigabits(10), .shared = gigabits(32)},
          .per_message = 1us,
          .reduce = gigabytes(10),
          .copy = gigabytes(10)};
}

/// Returns a fabric for RDMA: 100 Gbit/s a card, which moves bytes by itself.
NetworkLink card() {
  return {.latency = 3us, .flow = gigabits(100), .shared = gigabits(100)};
}

NetworkModel with_cards() {
  NetworkModel network = cloud();
  network.across = card();
  network.per_message = 300ns;
  return network;
}

NetworkModel with_tcp(double gigabits_per_second) {
  NetworkModel network = cloud();
  const Rate rate = gigabits(gigabits_per_second);
  network.across = {.latency = 50us, .flow = rate, .shared = rate};
  return network;
}

/// Returns networks to compare, without lengths and times.
std::vector<NetworksRow> networks_to_compare() {
  const NetworkLink slower = with_tcp(0.3).across;
  NetworkModel together_with_tcp = with_cards();
  together_with_tcp.per_message = cloud().per_message;
  return {
      {.name = "TCP, 32 Gbit/s", .network = cloud()},
      {.name = "RDMA, 100 Gbit/s", .network = with_cards()},
      {.name = "RDMA and TCP together", .network = together_with_tcp, .beside = {cloud().across}},
      {.name = "4 cards of 100 Gbit/s", .network = with_cards(), .beside = std::vector(3, card())},
      {.name = "TCP, 1 Gbit/s", .network = with_tcp(1)},
      {.name = "TCP, 1 and 0.3 Gbit/s together", .network = with_tcp(1), .beside = {slower}}};
}

bool is_alike_on_all_nodes(const SchedulePlan& plan) {
  const Algorithm outer = plan.algorithm == Algorithm::hierarchical ? plan.across : plan.algorithm;
  return outer == Algorithm::ring || outer == Algorithm::direct;
}

/// Runs an all-reduce over the networks of `simulated`, whose nodes are alike.
Seconds simulated_time(const SchedulePlan& plan, std::uint64_t bytes, Simulated simulated) {
  const int ranks_per_node = simulated.topology.largest_node();
  simulated.element_bytes = kElement;
  simulated.period = is_alike_on_all_nodes(plan) ? ranks_per_node : 0;
  const auto programs = [&](Rank self) {
    return all_reduce(plan, self, simulated.topology, bytes / kElement);
  };
  return simulate(simulated, programs).duration;
}

Seconds simulated_time(const SchedulePlan& plan, const ScaleTable& table,
                       const Topology& topology) {
  return simulated_time(plan, table.bytes, {.topology = topology, .network = cloud()});
}

std::string described(const SchedulePlan& plan) {
  std::string text(name_of(plan.algorithm));
  if (plan.algorithm == Algorithm::hierarchical)
    text += " over " + std::string(name_of(plan.across)) + ", " + std::to_string(plan.leaders) +
            " leaders";
  return text + ", pieces " + std::to_string(plan.cut.pieces) + ", lanes " +
         std::to_string(plan.cut.lanes);
}

std::vector<Algorithm> algorithms(int ranks_per_node) {
  using enum Algorithm;
  if (ranks_per_node == 1) return {ring, direct, halving_doubling, recursive_doubling, tree};
  return {ring, direct, halving_doubling, recursive_doubling, tree, hierarchical};
}

/// Plans as the library does, which does not know the network, and spreads long data over flows.
SchedulePlan planned(std::uint64_t bytes, const Topology& topology) {
  SchedulePlan plan = all_reduce_plan({.kind = CallKind::all_reduce,
                                       .bytes = bytes,
                                       .reduction = {ElementType::float32, ReduceOp::sum}},
                                      topology);
  plan.cut.pieces = std::min(plan.cut.pieces, kMostPieces);
  plan.cut.lanes = std::min(plan.cut.pieces, kMostLanes);
  return plan;
}

/// Simulates each algorithm with the pieces, lanes and leaders that the cost model gives it.
ScaleRow simulated_row(int ranks, const ScaleTable& table) {
  const Topology topology = filled_nodes(ranks, table.ranks_per_node);
  const auto plans = candidates(
      {Collective::all_reduce, static_cast<double>(table.bytes), kMostLanes}, topology, cloud());
  const auto is_simulated = [&](const Candidate& candidate) {
    return candidate.plan.cut.pieces <= kMostPieces;
  };
  ScaleRow row{.ranks = ranks, .times = {}, .chosen = {}};
  row.chosen = described(std::ranges::find_if(plans, is_simulated)->plan);
  for (const Algorithm algorithm : algorithms(table.ranks_per_node)) {
    const auto of_algorithm = [&](const Candidate& candidate) {
      return candidate.plan.algorithm == algorithm && is_simulated(candidate);
    };
    row.times.push_back(
        simulated_time(std::ranges::find_if(plans, of_algorithm)->plan, table, topology));
  }
  row.times.push_back(simulated_time(planned(table.bytes, topology), table, topology));
  const Spread spread{ranks / table.ranks_per_node, table.ranks_per_node};
  row.times.push_back(nccl_ring_time(spread, static_cast<double>(table.bytes), cloud()));
  row.times.push_back(nccl_tree_time(spread, static_cast<double>(table.bytes), cloud()));
  return row;
}

std::vector<ScaleTable> collective_tables() {
  std::vector<ScaleTable> tables;
  for (const int ranks_per_node : {1, 8})
    for (const std::uint64_t bytes : kSizes) {
      ScaleTable table{.ranks_per_node = ranks_per_node, .bytes = bytes, .columns = {}, .rows = {}};
      for (const Algorithm algorithm : algorithms(ranks_per_node))
        table.columns.emplace_back(name_of(algorithm));
      table.columns.insert(table.columns.end(),
                           {"as the library picks", "nccl ring formula", "nccl tree formula"});
      for (const int ranks : kRanks)
        table.rows.push_back(simulated_row(ranks, table));
      tables.push_back(table);
    }
  return tables;
}

std::vector<NetworksRow> networks_rows() {
  constexpr int kRanksPerNode = 8;
  std::vector<NetworksRow> rows;
  for (const std::uint64_t bytes : {kSizes.front(), kSizes.back()})
    for (NetworksRow row : networks_to_compare()) {
      row.bytes = bytes;
      for (const int ranks : kRanks) {
        const Topology topology = filled_nodes(ranks, kRanksPerNode);
        row.ranks.push_back(ranks);
        row.times.push_back(
            simulated_time(planned(bytes, topology), bytes,
                           {.topology = topology, .network = row.network, .beside = row.beside}));
      }
      rows.push_back(std::move(row));
    }
  return rows;
}

/// Returns the figures for 161 gradients (ResNet-50), in an idle step. A coordinator's messages are
/// as long as those counted of Horovod at 2 to 8 ranks. Once all names are cached, Horovod has no
/// coordinator either, and combines two vectors of 24 bytes.
NegotiationRow negotiation_row(int ranks) {
  constexpr std::size_t kGradients = 161;
  constexpr std::uint64_t kCached = 24;
  const std::vector<Program> ours = negotiation_of_a_step(ranks, kGradients);
  const Simulated simulated{
      .topology = filled_nodes(ranks, 8), .network = cloud(), .element_bytes = 1, .period = 0};
  const auto doubling = [&](Rank self) {
    return all_reduce_by_recursive_doubling({self.value, ranks}, kCached);
  };
  return {.ranks = ranks,
          .without_coordinator = simulate(
              simulated, [&](Rank self) { return ours[static_cast<std::size_t>(self.value)]; }),
          .coordinated = simulate(simulated,
                                  [&](Rank self) {
                                    return coordinated_negotiation(
                                        {self.value, ranks}, {.request = 14883, .response = 5340});
                                  }),
          .cached =
              simulate(simulated, [&](Rank self) { return then(doubling(self), doubling(self)); })};
}

std::vector<NegotiationRow> negotiation_rows() {
  std::vector<NegotiationRow> rows;
  for (const int ranks : kRanks)
    rows.push_back(negotiation_row(ranks));
  return rows;
}

/// Speeds as docs/benchmarks/codecs.md has them at 64 MiB, rounded.
SimulatedCodec simulated_codec(std::string_view text) {
  const CodecChoice choice = *codec_choice(text);
  switch (choice.id) {
    case CodecId::int8:
      return {choice, {gigabytes(8), gigabytes(2.5)}};
    case CodecId::one_bit:
      return {choice, {gigabytes(8), gigabytes(0.35)}};
    case CodecId::top_k:
    case CodecId::power_sgd:
      break;
  }
  return {choice, {gigabytes(6.5), gigabytes(0.45)}};
}

/// Returns the steps of gossip after which a tenth is left of a disagreement that is one wave over
/// all members: on a ring no other one lasts longer.
std::uint64_t steps_to_agree(const GossipTopology& topology, int members) {
  std::vector<Weights> round;
  for (std::size_t step = 0; step < period_of(topology, members); ++step)
    round.push_back(checked_weights(topology, members, step));
  std::vector<double> numbers;
  for (int member = 0; member < members; ++member)
    numbers.push_back(std::cos(2 * std::numbers::pi * member / members));
  const auto size = [](const std::vector<double>& of) {
    return std::inner_product(of.begin(), of.end(), of.begin(), 0.0);
  };
  const double goal = 0.01 * size(numbers);
  std::vector<double> mixed(numbers.size());
  std::uint64_t step = 0;
  for (; size(numbers) > goal; ++step) {
    const Weights& weights = round[step % round.size()];
    for (std::size_t member = 0; member < numbers.size(); ++member) {
      mixed[member] = weights.rows[member].own * numbers[member];
      for (const MixingRow::From& from : weights.rows[member].from)
        mixed[member] += from.weight * numbers[static_cast<std::size_t>(from.member)];
    }
    numbers.swap(mixed);
  }
  return step;
}

/// A way of exchanging, of one network.
class ExchangeCase {
 public:
  ExchangeCase(std::string name, std::optional<SimulatedCodec> codec,
               std::optional<GossipTopology> topology)
      : name_(std::move(name)), codec_(codec), topology_(std::move(topology)) {}

  ExchangeRow row(const std::string& network_name, const NetworkModel& network,
                  std::uint64_t bytes) const {
    constexpr int kRanksPerNode = 8;
    ExchangeRow row{.name = name_, .network = network_name, .link = network.across, .bytes = bytes};
    for (const int ranks : kRanks) {
      const Simulated simulated{.topology = filled_nodes(ranks, kRanksPerNode), .network = network};
      row.ranks.push_back(ranks);
      row.forecasts.push_back(forecast(simulated, bytes));
      if (topology_)
        row.steps_to_agree.push_back(steps_to_agree(*topology_, ranks / kRanksPerNode));
    }
    return row;
  }

 private:
  ExchangeForecast forecast(const Simulated& simulated, std::uint64_t bytes) const {
    if (topology_) return simulate_gossip(simulated, *topology_, codec_, bytes);
    if (codec_) return simulate_sum_of_codes(simulated, *codec_, bytes);
    return simulate_all_reduce(simulated, bytes);
  }

  std::string name_;
  std::optional<SimulatedCodec> codec_;
  std::optional<GossipTopology> topology_;
};

std::vector<ExchangeRow> exchange_rows() {
  const GossipTopology ring = gossip_topology("ring");
  const GossipTopology one_peer = gossip_topology("one-peer-exponential");
  const std::vector<ExchangeCase> cases{
      {"float32", {}, {}},
      {"int8", simulated_codec("int8"), {}},
      {"1bit", simulated_codec("1bit"), {}},
      {"topk:0.01", simulated_codec("topk:0.01"), {}},
      {"topk:0.001", simulated_codec("topk:0.001"), {}},
      {"gossip, ring", {}, ring},
      {"gossip, one-peer-exponential", {}, one_peer},
      {"gossip, ring, topk:0.01", simulated_codec("topk:0.01"), ring}};
  std::vector<ExchangeRow> rows;
  for (const auto& [name, network] :
       {std::pair("TCP, 32 Gbit/s", cloud()), std::pair("TCP, 1 Gbit/s", with_tcp(1))})
    for (const ExchangeCase& each : cases)
      rows.push_back(each.row(name, network, kSizes.back()));
  return rows;
}

ScaleReport simulate_all() {
  return {.network = cloud(),
          .most_lanes = kMostLanes,
          .most_pieces = kMostPieces,
          .tables = collective_tables(),
          .networks = networks_rows(),
          .negotiation = negotiation_rows(),
          .exchanges = exchange_rows()};
}

/// Prints a report of some tables alone.
void print_part(ScaleReport part) {
  part.network = cloud();
  part.most_lanes = kMostLanes;
  part.most_pieces = kMostPieces;
  std::cout << to_json(part) << "\n";
}

void run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "report") {
    std::cout << to_json(simulate_all()) << "\n";
  } else if (words.size() == 1 && words[0] == "networks") {
    print_part({.networks = networks_rows()});
  } else if (words.size() == 1 && words[0] == "exchanges") {
    print_part({.exchanges = exchange_rows()});
  } else if (!words.empty() && words[0] == "case") {
    for (const bench::BenchResult& result :
         simulate_case(scale_case_of(std::span(words).subspan(1))))
      std::cout << to_json(result) << "\n";
  } else {
    throw Error(ErrorKind::usage,
                "usage: comm_scale report | comm_scale networks | comm_scale exchanges | "
                "comm_scale case OPTIONS");
  }
}

}  // namespace
}  // namespace fastgpu::comm

int main(int count, char** arguments) {
  try {
    fastgpu::comm::run({arguments + 1, arguments + count});
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
