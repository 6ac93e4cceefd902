// What is remembered of a job, what mpirun says of its version, what a chain of copies reports.
#include <cstdint>
#include <string>

#include "attempt.hpp"
#include "launcher/engines/mpirun.hpp"
#include "state/record_text.hpp"
#include "transfer/relay_report.hpp"

using fastgpu::fuzz::attempt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const auto written_again = [](const std::string& record) {
      fastgpu::state::Job job;
      fastgpu::state::read_record_text(job, record);
      return fastgpu::state::record_text_of(*job.record);
    };
    const std::string once = written_again(text);
    if (written_again(once) != once) __builtin_trap();
  });
  attempt([&] { fastgpu::launcher::parse_open_mpi(text); });
  for (const auto& report : fastgpu::transfer::parse_reports(text)) {
    const auto again = fastgpu::transfer::parse_reports(fastgpu::transfer::to_line(report));
    if (again.size() != 1 || again[0].text != report.text) __builtin_trap();
  }
  return 0;
}
