// One figure: what a measuring program prints as a line of JSON, and what reads it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "comm/bench/collective.hpp"

namespace fastgpu::comm::bench {

/// What only the exchange of a model's gradients has.
struct StepFigures {
  std::string model;
  std::size_t gradients = 0;
  std::size_t buckets = 0;
  double negotiation_bytes = 0;  ///< Of one rank in one step.
  std::vector<double> seconds;   ///< Of each step, on the slowest rank.
};

struct Result {
  std::string library;
  std::string collective;
  std::string dtype;
  int ranks = 1;
  Bytes bytes{};
  double seconds = 0;  ///< Median, of the slowest rank.
  double algbw = 0;    ///< Bytes a second.
  double busbw = 0;    ///< Bytes a second.
  std::optional<StepFigures> step{};
};

inline constexpr const char* kGradients = "gradients";  ///< Its "collective".

Result result_of(const std::string& library, const Call& call, int ranks, double seconds);

/// {"library": ..., "collective": ..., ...} on one line, without its end.
std::string to_json(const Result& result);

/// Throws ErrorKind::remote, naming what is missing, for a line that is no result.
Result parse_result(const std::string& line);

}  // namespace fastgpu::comm::bench
