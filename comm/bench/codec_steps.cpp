#include "comm/bench/codec_steps.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "comm/bench/busiest_node.hpp"
#include "comm/bench/gradients.hpp"
#include "comm/bench/median.hpp"
#include "comm/bench/model_exchange.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr int kRounds = 3;
constexpr int kWarmUpOfCodec = 2;
constexpr std::size_t kSumBytes = std::size_t{16} << 20;
constexpr int kSums = 5;

/// The time and the bytes of several steps or calls.
struct NetworkUse {
  std::vector<double> seconds{};
  double bytes = 0;  ///< Sent by the ranks of the busiest node to other nodes, in all of them.
};

double greatest(Communicator& communicator, double number) {
  communicator.all_reduce(std::span(&number, 1), ReduceOp::max);
  return number;
}

double sent_to_nodes(const Communicator& communicator) {
  double bytes = 0;
  for (const LinkCounters& link : communicator.links())
    if (!link.is_within_node) bytes += static_cast<double>(link.bytes_sent);
  return bytes;
}

/// Runs `once`, which returns its seconds, `times` times.
template <class Once>
void add_runs(NetworkUse& use, Communicator& communicator, int times, Once once) {
  const double before = sent_to_nodes(communicator);
  for (int i = 0; i < times; ++i)
    use.seconds.push_back(once());
  const double mine = sent_to_nodes(communicator) - before;
  std::vector<double> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
  use.bytes += sent_by_busiest_node(communicator.topology(), all);
}

BenchResult sum_result(Communicator& communicator, const BenchSettings& settings) {
  std::vector<float> numbers(kSumBytes / sizeof(float), 1);
  NetworkUse use;
  const auto sum = [&] {
    communicator.barrier();
    const auto began = std::chrono::steady_clock::now();
    communicator.all_reduce(std::span(numbers), ReduceOp::max);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    return greatest(communicator, taken.count());
  };
  sum();
  add_runs(use, communicator, kSums, sum);
  const auto memory = std::as_writable_bytes(std::span(numbers));
  const BenchCall call{.collective = BenchCollective::all_reduce,
                       .type = ElementType::float32,
                       .in = memory,
                       .out = memory};
  BenchResult result = result_of(settings.label.empty() ? "fastgpu" : settings.label, call,
                                 communicator.size(), median(use.seconds));
  result.network_bytes = use.bytes / kSums;
  return result;
}

GradientSettings settings_for(std::string_view codec, const Environment& environment) {
  return gradient_settings([&](const std::string& name) {
    return name == "FASTGPU_COMM_WIRE" ? std::optional(std::string(codec)) : environment(name);
  });
}

}  // namespace

void measure_codecs(Communicator& communicator, const Environment& environment, const Model& model,
                    const BenchSettings& settings, const Emit& emit) {
  const BenchResult sum = sum_result(communicator, settings);
  const int steps = std::max(1, settings.steps / kRounds);
  std::vector<NetworkUse> uses(kComparedCodecs.size());
  std::vector<StepFigures> figures(kComparedCodecs.size());
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < uses.size(); ++i) {
      ModelExchange exchange(communicator, settings_for(kComparedCodecs[i], environment), model,
                             settings.handing);
      if (round == 0 && settings.is_checked) exchange.check_step();
      for (int step = 0; step < kWarmUpOfCodec; ++step)
        exchange.step();
      add_runs(uses[i], communicator, steps, [&] { return exchange.step(); });
      const GradientCounters counters = exchange.gradients().counters();
      figures[i] = {.model = model.name,
                    .gradients = model.gradients.size(),
                    .buckets = exchange.gradients().buckets(),
                    .negotiation_bytes = static_cast<double>(counters.negotiation_bytes) /
                                         static_cast<double>(counters.steps),
                    .seconds = uses[i].seconds};
    }
  if (communicator.rank() != Rank{0}) return;
  emit(sum);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    BenchResult result = step_result(communicator, model, std::move(figures[i]), settings.label);
    result.codec = kComparedCodecs[i];
    result.network_bytes = uses[i].bytes / static_cast<double>(uses[i].seconds.size());
    emit(result);
  }
}

}  // namespace fastgpu::comm::bench
