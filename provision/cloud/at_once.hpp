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
  const auto outcomes = parallel_map(std::span(tasks), tasks.size(), [](const auto& task) {
    task();
    return true;
  });
  for (const auto& outcome : outcomes)
    if (const auto* error = std::get_if<Error>(&outcome)) throw *error;
}

}  // namespace fastgpu::provision::cloud
