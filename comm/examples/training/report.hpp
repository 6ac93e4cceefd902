// The results of a run, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "training.hpp"

namespace training {

/// Returns "epoch 3  loss 0.1234  test accuracy 96.37 %  1.05 s  12.3 MB of gradients".
std::string line_of(const Epoch& epoch);

/// Returns the first rank whose parameters differ from those of rank 0.
std::optional<std::size_t> first_different(const std::vector<std::uint64_t>& hashes);

/// Returns "parameters: equal on all 2 ranks (hash 0123456789abcdef)", or the rank that differs.
std::string equality_line(const std::vector<std::uint64_t>& hashes);

/// Returns one JSON object; `program` is its name.
std::string json_of(const std::string& program, const TrainingResult& result,
                    const TrainingOptions& options);

}  // namespace training
