// The common part of the entry layer's tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_entry.hpp"

namespace fastgpu::test {

/// Returns settings with buckets for two small gradients.
constexpr comm::EntrySettings small_buckets() {
  comm::EntrySettings settings;
  settings.bucket = {128};
  return settings;
}

template <class T>
bool all_are(const std::vector<T>& values, double expected) {
  return std::ranges::all_of(values, [&](T value) { return value == static_cast<T>(expected); });
}

inline std::size_t index_of(const comm::Communicator& comm) {
  return static_cast<std::size_t>(comm.rank().value);
}

/// Collects the warnings of the entry layer.
class Sentences : public comm::EntryEvents {
 public:
  void warned(const std::string& sentence) override { all.push_back(sentence); }
  std::vector<std::string> all;
};

}  // namespace fastgpu::test
