// One prediction: an all-reduce of the library on hosts with known links.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "comm/bench/result.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/network_model.hpp"

namespace fastgpu::comm {

struct ScaleCase {
  int hosts = 2;
  int ranks_each = 1;
  std::vector<Bytes> sizes{};            ///< Lengths of float32; rounded down to whole ones.
  std::optional<Algorithm> algorithm{};  ///< Absent: the library's own choice.
  NetworkLink link{};
  std::vector<NetworkLink> beside{};  ///< Networks of each host that carry messages together.
  int calls = 0;                      ///< Equivalent to the one in bench::Settings.
};

/// Reads the words after `comm_scale case`. Throws ErrorKind::usage, naming the option and the
/// value met.
ScaleCase scale_case_of(std::span<const std::string> words);

/// Simulates each size. Processors and memory are free: only links take time.
std::vector<bench::BenchResult> simulate_case(const ScaleCase& asked);

}  // namespace fastgpu::comm
