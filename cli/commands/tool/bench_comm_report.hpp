// The results of bench comm, as a table, as JSON and as a page with plots.
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
  std::string command{};  ///< The typed command, for the page.
  std::string when{};     ///< "2026-03-01T12:00:00Z"
};

/// Returns the view for programs: JSON, YAML, names and the page.
View view_of(const BenchReport& report);

/// Returns the text for people: the columns of nccl-tests, the average bus bandwidth at the end;
/// models below.
Styled text_of(const BenchReport& report, Detail detail, const Terminal& terminal);

/// Returns "64 KiB" for a whole number of them, else "1000 B".
std::string exact_size(Bytes bytes);

/// Returns one HTML file that needs no other file, well-formed as XML.
std::string page_of(const BenchReport& report);

}  // namespace fastgpu::cli
