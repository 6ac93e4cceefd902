// The predictions of comm_scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/simulator/simulator.hpp"

namespace fastgpu::comm {

/// A line of a table: one number of ranks.
struct ScaleRow {
  int ranks = 0;
  std::vector<Seconds> times;  ///< The time of each column.
  std::string chosen;          ///< The cost model's choice, among the simulated columns.
};

struct ScaleTable {
  int ranks_per_node = 1;
  std::uint64_t bytes = 0;
  std::vector<std::string> columns;
  std::vector<ScaleRow> rows;
};

/// Nodes with other networks than those of the tables: times of one length by number of ranks.
struct NetworksRow {
  std::string name;
  NetworkModel network;
  std::vector<NetworkLink> beside{};  ///< Networks that carry each message together with the first.
  std::uint64_t bytes = 0;
  std::vector<int> ranks{};
  std::vector<Seconds> times{};  ///< The times, by number of ranks.
};

struct NegotiationRow {
  int ranks = 0;
  Forecast without_coordinator;
  Forecast coordinated;
  Forecast cached;  ///< The way of Horovod once it knows all names.
};

struct ScaleReport {
  NetworkModel network;
  int most_lanes = 1;
  int most_pieces = 1;
  std::vector<ScaleTable> tables;
  std::vector<NetworksRow> networks;
  std::vector<NegotiationRow> negotiation;
};

/// Returns {"schema", "network", "most_lanes", "most_pieces", "choices", "results": [{"library",
/// "collective", "dtype", "ranks", "bytes", "seconds", "algbw", "busbw", ...}], "networks":
/// [{"name", "links", "bytes", "results"}]}, in seconds, and bytes per second.
std::string to_json(const ScaleReport& report);

}  // namespace fastgpu::comm
