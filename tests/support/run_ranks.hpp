// Runs the ranks of one job as threads of the test.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace fastgpu::test {

/// Calls `body(ranks[r])` for every r, each on a thread, and returns how each ended: null if it
/// returned. Do not use doctest's macros in `body`; check its results on the test's own thread.
template <class Ranks, class Body>
std::vector<std::exception_ptr> outcomes_of_ranks(Ranks& ranks, const Body& body) {
  std::vector<std::exception_ptr> failures(ranks.size());
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(ranks[r]);
      } catch (...) {
        failures[r] = std::current_exception();
      }
    });
  }
  threads.clear();
  return failures;
}

/// Runs the ranks in the same way. Throws the failure of the lowest rank that failed.
template <class Ranks, class Body>
void run_ranks(Ranks& ranks, const Body& body) {
  for (const auto& failure : outcomes_of_ranks(ranks, body))
    if (failure) std::rethrow_exception(failure);
}

}  // namespace fastgpu::test
