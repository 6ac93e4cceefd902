// Lines that programs on nodes print for us: results of measurements and demonstrations, sessions.
#include <cmath>
#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "cli/commands/env/env_demo_report.hpp"
#include "cli/workflows/node_scripts/tmux.hpp"
#include "comm/bench/result.hpp"

using fastgpu::ErrorKind;
using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt<ErrorKind::remote>([&] {
    namespace bench = fastgpu::comm::bench;
    const std::string once = bench::to_json(bench::parse_result(text));
    if (bench::to_json(bench::parse_result(once)) != once) __builtin_trap();
  });
  attempt<ErrorKind::remote>([&] {
    const auto run = fastgpu::cli::parse_demo_report(text);
    if (run && !std::isfinite(run->accuracy)) __builtin_trap();
  });
  for (const auto& session : fastgpu::cli::parse_sessions(text))
    if (session.name.find('\n') != std::string::npos) __builtin_trap();
  fastgpu::cli::listing_failure(1, text);
  return 0;
}
