// Runs the same work on many items at once. For work that mostly waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/caught.hpp"
#include "base/error.hpp"

namespace fastgpu {

/// Returns the results of `work` for `items`, in their order. Runs at most `width` calls at once,
/// each on a thread of its own, so that `work` must be thread-safe. An exception that is not an
/// Error becomes one of ErrorKind::internal.
template <class Item, class Work>
auto parallel_map(std::span<const Item> items, std::size_t width, Work work) {
  using Result = std::invoke_result_t<Work&, const Item&>;
  std::vector<std::variant<std::monostate, Result, Error>> slots(items.size());
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < items.size(); i = next++) {
      try {
        slots[i].template emplace<1>(work(items[i]));
      } catch (...) {
        slots[i].template emplace<2>(caught_error());
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(width, items.size()); ++i)
      threads.emplace_back(take);
    take();
  }
  std::vector<std::variant<Result, Error>> results;
  for (auto& slot : slots) {
    if (slot.index() == 1)
      results.emplace_back(std::in_place_index<0>, std::move(std::get<1>(slot)));
    else
      results.emplace_back(std::in_place_index<1>, std::get<2>(slot));
  }
  return results;
}

}  // namespace fastgpu
