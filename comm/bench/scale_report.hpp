// What comm_scale has predicted.
#pragma once

#include <cstdint>
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

/// {"schema", "network", "most_lanes", "most_pieces", "choices", "results": [{"library",
/// "collective", "dtype", "ranks", "bytes", "seconds", "algbw", "busbw", ...}]}, seconds, and bytes
/// a second.
std::string to_json(const ScaleReport& report);

}  // namespace fastgpu::comm
