// Runs the same work on many items at once. For work that mostly waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/caught.hpp"
#include "base/outcome.hpp"

namespace fastgpu {

/// Returns the outcome of `work`. An exception that is not an Error becomes one of
/// ErrorKind::internal.
template <class Work>
auto attempt_any(Work work) -> Outcome<std::invoke_result_t<Work>> {
  try {
    return attempt(work);
  } catch (...) {
    return caught_error();
  }
}

/// Returns the outcomes of `work` for `items`, in their order. Runs at most `width` calls at once,
/// each on a thread of its own, so that `work` must be thread-safe. An exception that is not an
/// Error becomes one of ErrorKind::internal.
template <class Item, class Work>
auto parallel_map(std::span<const Item> items, std::size_t width, Work work) {
  using Result = Outcome<std::invoke_result_t<Work&, const Item&>>;
  std::vector<std::optional<Result>> slots(items.size());
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < items.size(); i = next++)
      slots[i] = attempt_any([&] { return work(items[i]); });
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(width, items.size()); ++i)
      threads.emplace_back(take);
    take();
  }
  std::vector<Result> outcomes;
  for (auto& slot : slots)
    outcomes.push_back(std::move(*slot));
  return outcomes;
}

/// Throws the first error of `outcomes`, if there is one.
template <class T>
void throw_first(const std::vector<Outcome<T>>& outcomes) {
  for (const Outcome<T>& outcome : outcomes)
    if (!outcome.ok()) throw Error(outcome.error());
}

}  // namespace fastgpu
