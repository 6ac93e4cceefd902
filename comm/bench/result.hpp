// One figure: a line of JSON that a measuring program prints, and its reader.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "comm/bench/collective.hpp"

namespace fastgpu::comm::bench {

/// The figures that only the exchange of a model's gradients has.
struct StepFigures {
  std::string model;
  std::size_t gradients = 0;
  std::size_t buckets = 0;
  double negotiation_bytes = 0;  ///< The bytes of one rank in one step.
  std::vector<double> seconds;   ///< The time of each step, on the slowest rank.
};

struct BenchResult {
  std::string library;
  std::string collective;
  std::string dtype;
  int ranks = 1;
  Bytes bytes{};
  double seconds = 0;  ///< The median, of the slowest rank.
  double algbw = 0;    ///< Bytes per second.
  double busbw = 0;    ///< Bytes per second.
  std::optional<StepFigures> step{};
  std::string transport{};  ///< The transport if several are compared, which the caller sets.
  std::string codec{};      ///< The codec if several are compared: "same", "topk:0.01".
  /// The bytes that the ranks of the busiest node send to other nodes in a call or step, if codecs
  /// are compared.
  std::optional<double> network_bytes{};
};

/// The value of "collective" for gradients.
inline constexpr const char* kGradients = "gradients";

/// Returns the figure of a call that takes `seconds`; a message there and back counts half of them.
BenchResult result_of(const std::string& library, const BenchCall& call, int ranks, double seconds);

/// Returns {"library": ..., "collective": ..., ...} on one line, without its end.
std::string to_json(const BenchResult& result);

/// Parses a line. Throws ErrorKind::remote, naming the missing part, unless it is a result.
BenchResult parse_result(const std::string& line);

}  // namespace fastgpu::comm::bench
