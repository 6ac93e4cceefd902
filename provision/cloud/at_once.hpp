// Requests that are independent of each other.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/parallel.hpp"

namespace fastgpu::provision::cloud {

using Tasks = std::vector<std::function<void()>>;

/// Runs all of them at once, each on a thread. All are done when this returns; the first failure is
/// thrown.
inline void at_once(const Tasks& tasks) {
  const auto outcomes = parallel_map(std::span(tasks), tasks.size(), [](const auto& task) {
    task();
    return true;
  });
  for (const auto& outcome : outcomes)
    if (const auto* error = std::get_if<Error>(&outcome)) throw *error;
}

}  // namespace fastgpu::provision::cloud
