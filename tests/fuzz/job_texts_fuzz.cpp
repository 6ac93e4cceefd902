// What is remembered of a job, what mpirun says of its version, what a chain of copies reports.
#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "launcher/engines/mpirun.hpp"
#include "launcher/job.hpp"
#include "transfer/relay_report.hpp"

using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const std::string once = fastgpu::launcher::to_json(fastgpu::launcher::parse_job_record(text));
    if (fastgpu::launcher::to_json(fastgpu::launcher::parse_job_record(once)) != once)
      __builtin_trap();
  });
  attempt([&] { fastgpu::launcher::parse_open_mpi(text); });
  for (const auto& report : fastgpu::transfer::parse_reports(text)) {
    const auto again = fastgpu::transfer::parse_reports(fastgpu::transfer::to_line(report));
    if (again.size() != 1 || again[0].text != report.text) __builtin_trap();
  }
  return 0;
}
