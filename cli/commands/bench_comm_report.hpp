// What bench comm has measured, as a table, as JSON and as a page with plots.
#pragma once

#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "comm/bench/result.hpp"

namespace fastgpu::cli {

struct BenchReport {
  std::string cluster;
  std::string job;
  std::vector<comm::bench::Result> results;
  std::string command{};  ///< What was typed, for the page.
  std::string when{};     ///< "2026-03-01T12:00:00Z"
};

/// For programs: JSON, YAML, names and the page.
View view_of(const BenchReport& report);

/// For people: the columns of nccl-tests, the average bus bandwidth at the end; models below.
Styled text_of(const BenchReport& report, Detail detail, const Terminal& terminal);

/// "64 KiB" where it is a whole number of them, else "1000 B".
std::string exact_size(Bytes bytes);

/// One HTML file that needs nothing from elsewhere, well-formed as XML.
std::string page_of(const BenchReport& report);

}  // namespace fastgpu::cli
