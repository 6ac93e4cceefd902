// The predictions of comm_scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/simulator/coded_exchange.hpp"
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

/// A way in which ranks of one network exchange gradients or parameters: times by number of ranks.
struct ExchangeRow {
  std::string name;
  std::string network;
  NetworkLink link{};  ///< The network between nodes.
  std::uint64_t bytes = 0;
  std::vector<int> ranks{};
  std::vector<ExchangeForecast> forecasts{};
  /// The steps after which a tenth of the disagreement between members is left; for gossip alone.
  std::vector<std::uint64_t> steps_to_agree{};
};

struct ScaleReport {
  NetworkModel network{};
  int most_lanes = 1;
  int most_pieces = 1;
  std::vector<ScaleTable> tables{};
  std::vector<NetworksRow> networks{};
  std::vector<NegotiationRow> negotiation{};
  std::vector<ExchangeRow> exchanges{};
};

/// Returns {"schema", "network", "most_lanes", "most_pieces", "choices", "results": [{"library",
/// "collective", "dtype", "ranks", "bytes", "seconds", "algbw", "busbw", ...}], "networks":
/// [{"name", "links", "bytes", "results"}], "exchanges": [{"name", "network", "link", "bytes",
/// "results": [{"ranks", "seconds", "bytes_out", "steps_to_agree"}]}]}, in seconds, and bytes per
/// second.
std::string to_json(const ScaleReport& report);

}  // namespace fastgpu::comm
