// The options of `job-follow`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/subcommands.hpp"

namespace fastgpu::agent {

struct FollowOptions {
  std::filesystem::path directory;
  /// Log name to offset; others start at the beginning.
  std::map<std::string, std::uint64_t> from{};
  /// Absent: all ranks, and the launcher's output too.
  std::optional<std::set<int>> ranks{};
  /// A number of lines; for logs that `from` does not name.
  std::optional<std::uint64_t> tail{};
  /// Runs until the job ends, not only to the end of the present output.
  bool follow = true;
  bool data = true;  ///< If false, sends only statuses.
  bool renew_lease = false;
};

FollowOptions parse_follow_options(Arguments arguments);  ///< Throws usage.

}  // namespace fastgpu::agent
