// Example results of bench comm.
#pragma once

#include <vector>

#include "comm/bench/result.hpp"

namespace fastgpu::cli::test {

/// Returns two results of all_reduce, one of all_gather, and a model whose name must be escaped in
/// HTML.
inline std::vector<comm::bench::BenchResult> some_results() {
  using comm::bench::BenchResult;
  const auto result = [](const char* collective, const char* dtype, std::uint64_t bytes) {
    return BenchResult{.library = "fastgpu",
                       .collective = collective,
                       .dtype = dtype,
                       .ranks = 4,
                       .bytes = {bytes},
                       .seconds = 12.5e-6,
                       .algbw = 0.64e6,
                       .busbw = 0.96e6,
                       .step = {}};
  };
  std::vector<BenchResult> results = {
      result("all_reduce", "float32", 8), result("all_reduce", "float32", 4 << 20),
      result("all_gather", "float16", 1'000'000), result("gradients", "float32", 102'228'128)};
  results[1].seconds = 2.097152e-3;
  results[1].algbw = 2e9;
  results[1].busbw = 3e9;
  results[2].algbw = 1e9;
  results[2].busbw = 0.75e9;
  results[3].seconds = 0.05;
  results[3].step = comm::bench::StepFigures{"a<b>&\"c\"", 161, 25, 9.5, {0.06, 0.05, 0.04}};
  return results;
}

}  // namespace fastgpu::cli::test
