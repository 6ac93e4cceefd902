// The final answers of nodes about a job.
#pragma once

#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::launcher {

/// Thrown for nodes whose answer a repetition would not change. Has the kind and the message of the
/// first of them.
class NodeRefusal : public Error {
 public:
  /// `nodes` is not empty, and all of them have answered with an error of the kind of `first`.
  NodeRefusal(std::vector<NodeName> nodes, const Error& first)
      : Error(first.during(nodes.front().value)), nodes_(std::move(nodes)) {}

  const std::vector<NodeName>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<NodeName> nodes_;
};

}  // namespace fastgpu::launcher
