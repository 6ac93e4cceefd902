#include "comm/bench/scale_case.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.hpp"
#include "comm/bench/measure.hpp"
#include "comm/bench/sizes.hpp"
#include "comm/engine/planner.hpp"
#include "comm/simulator/formulas.hpp"
#include "comm/simulator/simulator.hpp"

namespace fastgpu::comm {
namespace {

constexpr int kMostHosts = 4096;
constexpr int kMostBeside = 7;
constexpr Rate kAtOnce{1e30};

std::vector<std::string> names_of_algorithms() {
  std::vector<std::string> names;
  for (const Algorithm algorithm : kAlgorithms)
    names.emplace_back(name_of(algorithm));
  return names;
}

NetworkModel network_of(const NetworkLink& link) {
  return {.inside = {.latency = {}, .flow = kAtOnce, .shared = kAtOnce},
          .across = link,
          .per_message = {},
          .reduce = kAtOnce,
          .copy = kAtOnce};
}

/// A simulation of fastgpu-comm-bench: between batches of calls, ranks exchange their measurements
/// and meet in a barrier, which they do not leave all at the same time.
class SimulatedBench {
 public:
  explicit SimulatedBench(const ScaleCase& asked)
      : algorithm_(asked.algorithm),
        calls_(asked.calls),
        simulated_{.topology = filled_nodes(asked.hosts * asked.ranks_each, asked.ranks_each),
                   .network = network_of(asked.link),
                   .element_bytes = 1,
                   .beside = asked.beside,
                   .period = 0} {}

  /// Returns the time of one call, on the slowest rank.
  Seconds measure(std::uint64_t bytes) {
    const Call call = all_reduce_of(bytes, ElementType::float32);
    const Seconds warm = batch(call, 1);
    return batch(call, calls_ > 0 ? calls_ : bench::calls_in_batch(warm.count()));
  }

 private:
  Seconds batch(const Call& call, int calls) {
    run({.kind = CallKind::barrier, .reduction = {.type = ElementType::uint8}});
    const std::vector<Seconds> begun = simulated_.starts;
    for (int i = 0; i < calls; ++i)
      run(call);
    Seconds longest{};
    for (std::size_t rank = 0; rank < begun.size(); ++rank)
      longest = std::max(longest, simulated_.starts[rank] - begun[rank]);
    run(all_reduce_of(size_of(ElementType::float64), ElementType::float64));
    return longest / calls;
  }

  Call all_reduce_of(std::uint64_t bytes, ElementType type) const {
    return {.kind = CallKind::all_reduce,
            .bytes = bytes,
            .reduction = {type, ReduceOp::sum},
            .plan = {.algorithm = algorithm_}};
  }

  /// Runs a call that every rank begins after its previous one.
  void run(const Call& call) {
    simulated_.element_bytes = size_of(call.reduction.type);
    const auto program_of = [&](Rank self) {
      return plan_for(call, self, simulated_.topology).program;
    };
    simulated_.starts = simulate(simulated_, program_of).ends;
  }

  std::optional<Algorithm> algorithm_;
  int calls_;
  Simulated simulated_;
};

bench::BenchResult simulate_size(const ScaleCase& asked, std::uint64_t bytes) {
  SimulatedBench bench(asked);
  const Seconds taken = bench.measure(bytes);
  const int ranks = asked.hosts * asked.ranks_each;
  const auto moved = static_cast<double>(bytes);
  return {.library = "simulated",
          .collective = "all_reduce",
          .dtype = "float32",
          .ranks = ranks,
          .bytes = {bytes},
          .seconds = taken.count(),
          .algbw = moved / taken.count(),
          .busbw = bus_bandwidth(ranks, moved, taken).bytes_per_second};
}

}  // namespace

ScaleCase scale_case_of(std::span<const std::string> words) {
  ScaleCase asked;
  std::string sizes;
  std::string algorithm;
  double latency = 0;
  double rate = 0;
  std::vector<double> further;
  CLI::App app("Predicts all-reduces of float32 on hosts whose links alone take time.",
               "comm_scale case");
  app.add_option("--hosts", asked.hosts, "How many")->required()->check(CLI::Range(1, kMostHosts));
  app.add_option("--ranks-each", asked.ranks_each, "On each host (1)")->check(CLI::Range(1, 64));
  app.add_option("--sizes", sizes, "Bytes, as fastgpu-comm-bench has them")->required();
  app.add_option("--algorithm", algorithm, "As FASTGPU_COMM_ALGORITHM has it")
      ->check(CLI::IsMember(names_of_algorithms()));
  app.add_option("--rate", rate, "Bytes a second of each host's link, each way")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--beside", further,
                 "The same of further networks that carry messages together (1250000,3750000)")
      ->delimiter(',')
      ->expected(1, kMostBeside)
      ->check(CLI::PositiveNumber);
  app.add_option("--calls", asked.calls, "As fastgpu-comm-bench has it")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--latency", latency, "Seconds between two hosts, one way (0)")
      ->check(CLI::NonNegativeNumber);
  try {
    // CLI11 takes them in reverse.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorKind::usage, e.what());
  }
  asked.sizes = bench::parse_sizes(sizes);
  if (!algorithm.empty()) asked.algorithm = algorithm_named(algorithm);
  asked.link = {.latency = Seconds(latency), .flow = {rate}, .shared = {rate}};
  for (const double each : further)
    asked.beside.push_back({.latency = Seconds(latency), .flow = {each}, .shared = {each}});
  return asked;
}

std::vector<bench::BenchResult> simulate_case(const ScaleCase& asked) {
  const std::uint64_t element = size_of(ElementType::float32);
  std::vector<bench::BenchResult> results;
  for (const Bytes size : asked.sizes)
    results.push_back(simulate_size(asked, size.count / element * element));
  return results;
}

}  // namespace fastgpu::comm
