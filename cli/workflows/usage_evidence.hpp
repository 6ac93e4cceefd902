// A node's report on the work of a job's ranks.
#pragma once

#include <string>

#include "launcher/node_usage.hpp"

namespace fastgpu::cli {

/// How busy a node was, and what libfastgpu_comm has counted there.
struct UsageEvidence {
  std::string node{};
  launcher::JobUsage usage{};
};

}  // namespace fastgpu::cli
