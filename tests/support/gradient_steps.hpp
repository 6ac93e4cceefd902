// The common part of the tests of gradient exchanges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"

namespace fastgpu::test {

/// Returns settings with buckets for two small gradients.
constexpr comm::GradientSettings small_buckets() {
  comm::GradientSettings settings;
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

/// Collects the warnings of an exchange.
class Sentences : public comm::GradientEvents {
 public:
  void warned(const std::string& sentence) override { all.push_back(sentence); }
  std::vector<std::string> all;
};

}  // namespace fastgpu::test
