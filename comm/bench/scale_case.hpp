// One prediction: an all-reduce of the library on hosts whose links are known.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "comm/bench/result.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/network.hpp"

namespace fastgpu::comm {

struct ScaleCase {
  int hosts = 2;
  int ranks_each = 1;
  std::vector<Bytes> sizes{};            ///< Of float32; rounded down to whole ones.
  std::optional<Algorithm> algorithm{};  ///< Absent: as the library does it.
  Link link{};
  int calls = 0;  ///< As bench::Settings has it.
};

/// Reads the words after `comm_scale case`. Throws ErrorKind::usage, naming the option and the
/// value met.
ScaleCase scale_case_of(std::span<const std::string> words);

/// Of each size. Processors and memory count for nothing: links are what takes time.
std::vector<bench::Result> simulate_case(const ScaleCase& asked);

}  // namespace fastgpu::comm
