// Times the exchange of a model's gradients, without the model: bench_comm_gradients
// [resnet50|bert-large] [copies|views] [steps]. One process per rank, under mpirun, with
// FASTGPU_COMM_MASTER_ADDR and _PORT set; the other variables say what is measured.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/bench/models.hpp"
#include "comm/entry/gradient_entry.hpp"
#include "comm/rendezvous.hpp"

namespace fastgpu::comm::bench {
namespace {

struct Options {
  std::string model = "resnet50";
  std::string memory = "copies";
  int steps = 20;
};

Options options_of(int count, char** arguments) {
  Options options;
  if (count > 1) options.model = arguments[1];
  if (count > 2) options.memory = arguments[2];
  if (count > 3) options.steps = std::max(1, std::atoi(arguments[3]));
  return options;
}

/// The gradients of a backward pass that takes no time: the last layer first.
double step_seconds(Communicator& comm, GradientEntry& entry) {
  comm.barrier();
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = entry.table().size(); i > 0; --i)
    entry.ready({i - 1});
  entry.wait_step();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  comm.all_reduce(std::span(&seconds, 1), ReduceOp::max);
  return seconds;
}

void run(const Options& options) {
  const Environment environment = process_environment();
  Communicator comm(join(job_place(environment)));
  const auto model = options.model == "bert-large" ? bert_large() : resnet50();
  const bool has_views = options.memory == "views";
  GradientEntry entry(comm, entry_settings(environment));
  std::vector<std::vector<float>> values(model.size());
  std::size_t elements = 0;
  for (std::size_t i = 0; i < model.size(); ++i) {
    elements += model[i].elements;
    if (!has_views) values[i].assign(model[i].elements, 1.0F);
    entry.add({.name = model[i].name, .shape = {model[i].elements}},
              std::as_writable_bytes(std::span(values[i])));
  }
  constexpr int kWarmUp = 5;
  for (int step = 0; step < kWarmUp; ++step)
    step_seconds(comm, entry);
  std::vector<double> seconds;
  for (int step = 0; step < options.steps; ++step)
    seconds.push_back(step_seconds(comm, entry));
  std::ranges::sort(seconds);
  const EntryCounters& counters = entry.counters();
  if (comm.rank() == Rank{0})
    std::printf(
        "%s %s: %d ranks, %zu gradients, %.1f MB, %zu buckets: median %.2f ms, best %.2f "
        "ms; %.1f bytes of negotiation a step\n",
        options.model.c_str(), options.memory.c_str(), comm.size(), model.size(),
        static_cast<double>(elements) * 4e-6, entry.buckets(), 1e3 * seconds[seconds.size() / 2],
        1e3 * seconds.front(),
        static_cast<double>(counters.negotiation_bytes) / static_cast<double>(counters.steps));
  comm.barrier();
}

}  // namespace
}  // namespace fastgpu::comm::bench

int main(int count, char** arguments) {
  try {
    fastgpu::comm::bench::run(fastgpu::comm::bench::options_of(count, arguments));
  } catch (const fastgpu::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
