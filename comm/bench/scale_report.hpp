// What comm_scale has predicted, and how it is shown.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "comm/simulator/simulator.hpp"

namespace fastgpu::comm {

/// A line of a table: one number of ranks.
struct ScaleRow {
  int ranks = 0;
  std::vector<Seconds> times;  ///< Of each column.
  std::string chosen;          ///< By the cost model, of the columns simulated.
};

struct ScaleTable {
  int ranks_per_node = 1;
  std::uint64_t bytes = 0;
  std::vector<std::string> columns;
  std::vector<ScaleRow> rows;
};

struct NegotiationRow {
  int ranks = 0;
  Forecast without_coordinator;
  Forecast coordinated;
  Forecast cached;  ///< As Horovod does it once it knows all names.
};

struct ScaleReport {
  Network network;
  int most_lanes = 1;
  int most_pieces = 1;
  std::vector<ScaleTable> tables;
  std::vector<NegotiationRow> negotiation;
};

/// A page for docs/benchmarks.
void print_markdown(const ScaleReport& report, std::ostream& out);

/// {"schema", "results": [{"library", "collective", "dtype", "ranks", "bytes", "seconds", "algbw",
/// "busbw", ...}]}, bandwidths in bytes a second.
void print_json(const ScaleReport& report, std::ostream& out);

}  // namespace fastgpu::comm
