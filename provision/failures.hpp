// Many hosts' failures as one Error.
#pragma once

#include <string_view>
#include <vector>

#include "base/host_result.hpp"

namespace fastgpu::provision {

struct NodeFailure {
  NodeName node;
  Error error;
};

template <class T>
void add_failures(std::vector<NodeFailure>& failures, const std::vector<HostResult<T>>& results) {
  for (const HostResult<T>& result : results)
    if (!result.ok()) failures.push_back({result.host, result.error()});
}

/// Returns "<doing>: demo-1: no space (and so demo-2, demo-3)", with the kind of the first one;
/// there must be one.
Error as_one(std::string_view doing, const std::vector<NodeFailure>& failures);

/// Throws them as one if there are any.
void throw_failures(std::string_view doing, const std::vector<NodeFailure>& failures);

}  // namespace fastgpu::provision
