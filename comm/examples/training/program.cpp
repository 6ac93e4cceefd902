#include "program.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "report.hpp"

namespace training {
namespace {

constexpr int kFailure = 1;
constexpr int kWrongUsage = 2;

std::string help_of(const TrainingProgram& program) {
  const TrainingOptions& defaults = program.defaults;
  return "usage: " + program.name +
         " [--global-batch N] [--epochs N] [--seed N] [--data PATH] [--report FILE] [--json]\n"
         "\n"
         "Trains " +
         program.about +
         ", alone or as one rank of many.\n"
         "  --global-batch N  samples of one step, over all ranks together (" +
         std::to_string(defaults.global_batch) +
         ")\n"
         "  --epochs N        passes over the training set (" +
         std::to_string(defaults.epochs) +
         ")\n"
         "  --seed N          of the initial parameters and of the order of samples (" +
         std::to_string(defaults.seed) +
         ")\n"
         "  --data PATH       " +
         program.data_help + " (" + defaults.data.string() +
         ")\n"
         "  --report FILE     rank 0 writes the result there as JSON\n"
         "  --json            the result on stdout as JSON, all else on stderr\n";
}

void write_report(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  if (!out) throw std::runtime_error("the report " + file.string() + " cannot be written");
}

/// Trains. Only rank 0 prints; all return the same status.
int run(fgc::Communicator& comm, const TrainingProgram& program, const TrainingOptions& options) {
  const bool speaks = comm.rank() == 0;
  std::ostream& out = options.wants_json ? std::cerr : std::cout;
  if (speaks && options.report) write_report(*options.report, "");  // Not after hours of training.
  const Split data = program.load(options.data);
  if (speaks)
    out << "training on " << data.training.size() << " images, testing on " << data.test.size()
        << ", ranks: " << comm.size() << '\n'
        << std::flush;
  const TrainingResult result = train(comm, program.recipe, options, data, [&](const Epoch& epoch) {
    if (speaks) out << line_of(epoch) << '\n' << std::flush;
  });
  if (speaks) {
    const std::string json = json_of(program.name, result, options);
    out << equality_line(result.hashes) << '\n' << std::flush;
    if (options.report) write_report(*options.report, json);
    if (options.wants_json) std::cout << json << std::flush;
  }
  comm.barrier();  // No rank leaves while another still reads.
  return first_different(result.hashes) ? kFailure : 0;
}

int run(const TrainingProgram& program, const TrainingOptions& options) {
  fgc::Communicator comm;
  try {
    return run(comm, program, options);
  } catch (const std::exception& e) {
    throw std::runtime_error("rank " + std::to_string(comm.rank()) + ": " + e.what());
  }
}

}  // namespace

int run(const TrainingProgram& program, std::span<const char* const> arguments) {
  const auto fail = [&](const std::exception& e, int status) {
    std::cerr << program.name << ": " << e.what() << '\n';
    return status;
  };
  try {
    const TrainingOptions options = parse_options(program.defaults, arguments);
    if (!options.wants_help) return run(program, options);
    std::cout << help_of(program);
    return 0;
  } catch (const UsageError& e) {
    return fail(e, kWrongUsage);
  } catch (const std::exception& e) {
    return fail(e, kFailure);
  }
}

}  // namespace training
