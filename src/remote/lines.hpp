// Output cut into lines, and hosts that said the same put together.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::remote {

/// Collects pieces of output and gives them on in whole lines, each with its newline. A line over
/// `kLongest` bytes is given on in parts, so that memory stays bounded whatever the output is.
class LineCutter {
 public:
  static constexpr std::size_t kLongest = 256UL * 1024;
  using Sink = std::function<void(std::string_view)>;

  explicit LineCutter(Sink sink) : sink_(std::move(sink)) {}

  /// Gives on all complete lines at once, in one call.
  void add(std::string_view piece);
  /// Gives on what is left at the end, which has no newline.
  void finish();

 private:
  Sink sink_;
  std::string rest_;
};

/// What a host has said; borrowed.
struct Output {
  NodeName host;
  std::string_view text;
};

/// Hosts that said the same.
struct OutputGroup {
  std::vector<NodeName> hosts;
  std::string_view text;
};

/// The outputs with equal ones together, in the order in which each first occurs.
std::vector<OutputGroup> fold(std::span<const Output> outputs);

}  // namespace fastgpu::remote
