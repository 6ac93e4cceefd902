// Prints the page of bench comm for fixed results.
#include <cstdio>

#include "cli/commands/tool/bench_comm_report.hpp"
#include "support/bench_results.hpp"

int main() {
  const fastgpu::cli::BenchReport report{"demo", "bench-comm-1", fastgpu::cli::test::some_results(),
                                         "fastgpu bench comm demo --sizes=8:4M",
                                         "2026-03-01T12:00:00Z"};
  std::fputs(fastgpu::cli::page_of(report).c_str(), stdout);
}
