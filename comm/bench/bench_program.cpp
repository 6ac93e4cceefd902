#include "comm/bench/bench_program.hpp"

#include <cstdio>

#include "base/error.hpp"

namespace fastgpu::comm::bench {
namespace {

void print_model(const Model& model) {
  std::printf("# %s\n", model.name.c_str());
  for (const ModelGradient& gradient : model.gradients)
    std::printf("%s %zu\n", gradient.name.c_str(), gradient.elements);
}

/// Prints `error` and returns its exit code.
int report(const BenchProgram& program, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), error.what());
  if (error.kind() == ErrorKind::usage) return 2;
  if (error.kind() == ErrorKind::capacity) return 4;
  return error.kind() == ErrorKind::not_found ? 5 : 1;
}

}  // namespace

int run_program(const BenchProgram& program, std::span<char* const> words,
                const std::function<void(const BenchSettings&)>& body) {
  try {
    const std::vector<std::string> all(words.begin() + 1, words.end());
    const BenchSettings settings = settings_of(program, all);
    if (!settings.help.empty())
      std::fputs(settings.help.c_str(), stdout);
    else if (settings.only_prints_model)
      print_model(find_model(settings.model));
    else
      body(settings);
    return 0;
  } catch (const Error& e) {
    return report(program, e);
  } catch (const std::exception& e) {  // Thrown by the measured library.
    return report(program, {ErrorKind::remote, e.what()});
  }
}

void print_warning(const std::string& sentence) {
  std::fprintf(stderr, "fastgpu-comm-bench: %s\n", sentence.c_str());
}

void print_result(const BenchResult& result) {
  std::puts(to_json(result).c_str());
  std::fflush(stdout);
}

void refuse_ours(const BenchProgram& program, const BenchSettings& settings) {
  const auto refuse = [&](const std::string& option) {
    throw Error(ErrorKind::usage, option + " is for fastgpu-comm-bench, not for " + program.name);
  };
  if (!settings.model.empty()) refuse("--model");
  if (settings.buffers == Buffers::heap) refuse("--buffers heap");
  if (settings.compares_codecs) refuse("--codecs");
  if (settings.reports_links) refuse("--links");
}

}  // namespace fastgpu::comm::bench
