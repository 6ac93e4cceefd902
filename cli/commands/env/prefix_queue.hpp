// The prefixes of environments that a command visits. Nodes report further ones on the way: those
// that another machine has used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envs/environments/node_status.hpp"

namespace fastgpu::cli {

/// The choice to visit the prefixes that nodes report, too.
enum class Reported : std::uint8_t { visited, ignored };

class PrefixQueue {
 public:
  PrefixQueue(std::vector<std::string> first, Reported reported)
      : prefixes_(std::move(first)), reported_(reported) {}

  /// Adds the prefixes that the node reports, each once. Ignores relative paths.
  void add(const agent::EnvironmentStatus& status);

  /// Returns the next prefix; absent after the last one.
  std::optional<std::string> next();

 private:
  std::vector<std::string> prefixes_;
  Reported reported_;
  std::size_t at_ = 0;
};

}  // namespace fastgpu::cli
