// Starts nodes, several at a time. Reports for each that it serves, or why it does not.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/outcome.hpp"
#include "provision/providers/local/order.hpp"

namespace fastgpu::provision::local {

struct BootJob {
  BootOrder order;
  /// Called just before the node is started, so that the files of one node are written while others
  /// boot. An exception becomes the node's outcome.
  std::function<void()> prepare{};
  /// Shown among the process's arguments, so that a node without its folder can be found.
  std::string mark;
};

/// Runs `init_program` once for each job. Returns when all have answered, with one outcome each. A
/// node that is alive already is a success. After a cancel no further node is started, and
/// incomplete ones are ended.
std::vector<Outcome<void>> boot_nodes(const std::filesystem::path& init_program,
                                      std::span<const BootJob> jobs, const Cancel& cancel);

}  // namespace fastgpu::provision::local
