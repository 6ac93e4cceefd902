#include "comm/bench/gradients.hpp"

#include "comm/bench/median.hpp"
#include "comm/bench/model_exchange.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr int kWarmUpSteps = 5;

}  // namespace

BenchResult step_result(const Communicator& communicator, const Model& model, StepFigures figures,
                        const std::string& label) {
  const Bytes bytes = bytes_of(model);
  const double seconds = median(figures.seconds);
  const double algbw = static_cast<double>(bytes.count) / seconds;
  return {.library = label.empty() ? "fastgpu" : label,
          .collective = kGradients,
          .dtype = std::string(name_of(ElementType::float32)),
          .ranks = communicator.size(),
          .bytes = bytes,
          .seconds = seconds,
          .algbw = algbw,
          .busbw = algbw * bus_factor(BenchCollective::all_reduce, communicator.size()),
          .step = std::move(figures)};
}

void measure_gradients(Communicator& communicator, const GradientSettings& gradients,
                       const Model& model, const BenchSettings& settings, const Emit& emit) {
  ModelExchange exchange(communicator, gradients, model, settings.handing);
  if (settings.is_checked) exchange.check_step();
  for (int step = 0; step < kWarmUpSteps; ++step)
    exchange.step();
  StepFigures figures{.model = model.name,
                      .gradients = model.gradients.size(),
                      .buckets = exchange.gradients().buckets(),
                      .negotiation_bytes = 0,
                      .seconds = {}};
  for (int step = 0; step < settings.steps; ++step)
    figures.seconds.push_back(exchange.step());
  communicator.barrier();
  if (communicator.rank() != Rank{0}) return;
  const GradientCounters& counters = exchange.gradients().counters();
  figures.negotiation_bytes =
      static_cast<double>(counters.negotiation_bytes) / static_cast<double>(counters.steps);
  emit(step_result(communicator, model, std::move(figures), settings.label));
}

}  // namespace fastgpu::comm::bench
