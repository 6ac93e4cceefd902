// Splits output into lines, and groups hosts with the same output.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::remote {

/// Collects pieces of output and passes on whole lines, each with its newline. Passes on a line
/// longer than `kLongest` bytes in parts, so that memory stays bounded.
class LineCutter {
 public:
  static constexpr std::size_t kLongest = 256UL * 1024;
  using Sink = std::function<void(std::string_view)>;

  explicit LineCutter(Sink sink) : sink_(std::move(sink)) {}

  /// Passes on all complete lines in one call.
  void add(std::string_view piece);
  /// Passes on the rest after the last newline.
  void finish();

 private:
  Sink sink_;
  std::string rest_;
};

/// The output of a host; borrowed.
struct HostText {
  NodeName host;
  std::string_view text;
};

/// The hosts with the same output.
struct OutputGroup {
  std::vector<NodeName> hosts;
  std::string_view text;
};

/// Groups equal outputs, in the order in which each first occurs.
std::vector<OutputGroup> fold(std::span<const HostText> outputs);

}  // namespace fastgpu::remote
