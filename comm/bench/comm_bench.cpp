// fastgpu-comm-bench: times collectives of libfastgpu_comm and the exchange of a model's gradients,
// one process a rank. It takes the job from the environment, as every program that uses the library
// does.
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/bench/bench_program.hpp"
#include "comm/bench/codec_steps.hpp"
#include "comm/bench/fastgpu_library.hpp"
#include "comm/bench/gradients.hpp"
#include "comm/common/variables.hpp"
#include "comm/communicator/join.hpp"
#include "comm/fabric/rank_gpu.hpp"
#include "comm/trace/link_counts.hpp"

namespace fastgpu::comm::bench {
namespace {

void run(const BenchSettings& settings) {
  check_variables(process_variables());
  const Environment environment = process_environment();
  const GradientSettings exchange = gradient_settings(environment);
  std::optional<Model> model;
  if (!settings.model.empty()) model = find_model(settings.model);
  Connections connections = join(job_place(environment));
  connections.warn = print_warning;
  if (!connections.network_report.empty()) connections.warn(connections.network_report);
  Communicator communicator(std::move(connections));
  const std::string memory = communicator.report_of_device_memory();
  if (communicator.rank() == Rank{0} && !memory.empty() && !fabric::gpus_of_machine().empty())
    print_warning(memory);
  FastgpuLibrary library(communicator, settings.buffers);
  measure_collectives(library, settings, print_result);
  if (model && settings.compares_codecs)
    measure_codecs(communicator, environment, *model, settings, print_result);
  else if (model)
    measure_gradients(communicator, exchange, *model, settings, print_result);
  if (settings.reports_links)
    std::fputs(links_json(communicator.links(), communicator.rank()).c_str(), stderr);
}

}  // namespace
}  // namespace fastgpu::comm::bench

int main(int count, char** arguments) {
  using namespace fastgpu::comm::bench;
  return run_program({.name = "fastgpu-comm-bench",
                      .about = "Times libfastgpu_comm. Rank 0 prints a line of JSON a result.",
                      .options = {}},
                     {arguments, static_cast<std::size_t>(count)}, run);
}
