// Requests that are independent of each other.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/parallel.hpp"

namespace fastgpu::provision::cloud {

using Tasks = std::vector<std::function<void()>>;

/// Runs all tasks at once, each on a thread. Returns when all are done; throws the first failure.
inline void at_once(const Tasks& tasks) {
  throw_first(parallel_map(std::span(tasks), tasks.size(), [](const auto& task) { task(); }));
}

}  // namespace fastgpu::provision::cloud
