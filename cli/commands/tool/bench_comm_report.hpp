// The results of bench comm as a table, as JSON, and as a page with plots.
#pragma once

#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "comm/bench/result.hpp"

namespace fastgpu::cli {

struct BenchReport {
  std::string cluster;
  std::string job;
  std::vector<comm::bench::BenchResult> results;
  std::string command{};            ///< The command that the user typed, for the page.
  std::string when{};               ///< The time of the run: "2026-03-01T12:00:00Z".
  std::vector<std::string> jobs{};  ///< The job of each transport, if transports are compared.
};

/// Returns the result for programs: JSON, YAML, names and the page.
View view_of(const BenchReport& report);

/// Returns the text for people: a table with the columns of nccl-tests, the average bus bandwidth,
/// and the models.
Styled text_of(const BenchReport& report, Detail detail, const Terminal& terminal);

/// Returns "64 KiB" for a whole number of KiB, MiB and so on, else "1000 B".
std::string exact_size(Bytes bytes);

/// Returns an HTML page that needs no other file and is well-formed XML.
std::string page_of(const BenchReport& report);

}  // namespace fastgpu::cli
