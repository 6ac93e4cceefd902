// fastgpu-digits: a training program that uses libfastgpu_comm, small enough to read.
#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>

#include "dataset.hpp"
#include "job.hpp"
#include "options.hpp"
#include "report.hpp"
#include "training.hpp"

namespace digits {
namespace {

constexpr int kFailure = 1;
constexpr int kWrongUsage = 2;

void write_report(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  if (!out) throw std::runtime_error("the report " + file.string() + " cannot be written");
}

/// Only rank 0 speaks; all return the same status.
int run(Job& job, const Options& options) {
  const bool speaks = job.rank() == 0;
  const Split data = split(load_samples(options.data));
  if (speaks)
    std::cout << "training on " << data.training.size() << " images, testing on "
              << data.test.size() << ", ranks: " << job.size() << std::endl;
  const Result result = train(job, options, data, [&](const Epoch& epoch) {
    if (speaks) std::cout << line_of(epoch) << std::endl;
  });
  if (speaks) {
    std::cout << equality_line(result.hashes) << std::endl;
    if (options.report) write_report(*options.report, json_of(result, options));
  }
  job.barrier();  // Nobody leaves while another still reads.
  return first_different(result.hashes) ? kFailure : 0;
}

int run(const Options& options) {
  Job job;
  try {
    return run(job, options);
  } catch (const std::exception& e) {
    throw std::runtime_error("rank " + std::to_string(job.rank()) + ": " + e.what());
  }
}

}  // namespace
}  // namespace digits

int main(int count, char** arguments) {
  try {
    const std::span<char* const> all(arguments, static_cast<std::size_t>(count));
    const digits::Options options = digits::parse_options(all.subspan(1));
    if (!options.wants_help) return digits::run(options);
    std::cout << digits::kHelp;
    return 0;
  } catch (const digits::UsageError& e) {
    std::cerr << "fastgpu-digits: " << e.what() << '\n';
    return digits::kWrongUsage;
  } catch (const std::exception& e) {
    std::cerr << "fastgpu-digits: " << e.what() << '\n';
    return digits::kFailure;
  }
}
