// What a run came to, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "training.hpp"

namespace training {

/// "epoch 3  loss 0.1234  test accuracy 96.37 %  1.05 s  12.3 MB of gradients"
std::string line_of(const Epoch& epoch);

/// The first rank whose parameters are not those of rank 0.
std::optional<std::size_t> first_different(const std::vector<std::uint64_t>& hashes);

/// "parameters: equal on all 2 ranks (hash 0123456789abcdef)", or which rank differs.
std::string equality_line(const std::vector<std::uint64_t>& hashes);

/// One JSON object; `program` is its name.
std::string json_of(const std::string& program, const Result& result, const Options& options);

}  // namespace training
