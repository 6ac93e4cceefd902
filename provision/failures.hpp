// Many hosts' failures as one Error.
#pragma once

#include <string_view>
#include <vector>

#include "base/host_result.hpp"

namespace fastgpu::provision {

struct Failure {
  NodeName node;
  Error error;
};

template <class T>
void add_failures(std::vector<Failure>& failures, const std::vector<HostResult<T>>& results) {
  for (const HostResult<T>& result : results)
    if (!result.ok()) failures.push_back({result.host, result.error()});
}

/// Throws where there are any: "<doing>: demo-1: no space (and demo-2, demo-3)", with the kind of
/// the first one.
void throw_failures(std::string_view doing, const std::vector<Failure>& failures);

}  // namespace fastgpu::provision
