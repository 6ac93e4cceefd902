// What `job-follow` is asked for.
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
  std::map<std::string, std::uint64_t> from{};  ///< Log name to offset; others from the beginning.
  std::optional<std::set<int>> ranks{};         ///< Absent: all, and the launcher's output too.
  std::optional<std::uint64_t> tail{};          ///< Lines; for logs that `from` does not name.
  bool follow = true;                           ///< Until the job ends, not until what there is.
  bool data = true;                             ///< Else statuses only.
  bool renew_lease = false;
};

FollowOptions parse_follow_options(Arguments arguments);  ///< Throws usage.

}  // namespace fastgpu::agent
