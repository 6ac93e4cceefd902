// What the agent is sent on standard input: plans, small files, statuses.
#include <cstddef>
#include <cstdint>

#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"
#include "attempt.hpp"

using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] { fastgpu::agent::parse_plan(text); });
  attempt([&] {
    for (const auto& file : fastgpu::agent::decode_files(text))
      if (file.name.starts_with('/') || file.name.find("..") != std::string::npos) __builtin_trap();
  });
  attempt([&] { fastgpu::agent::parse_rank_end(text); });
  attempt([&] { fastgpu::agent::parse_job_end(text); });
  return 0;
}
