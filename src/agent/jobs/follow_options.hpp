// The options of `job-follow`.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/protocol/tail.hpp"
#include "agent/subcommands.hpp"

namespace fastgpu::agent {

struct LogFollowOptions {
  std::filesystem::path directory;
  /// The offsets from which logs are read, by log_name(); other logs are read from their beginning.
  std::map<std::string, std::uint64_t> from{};
  /// Absent for all ranks and the launcher's output.
  std::optional<std::set<int>> ranks{};
  /// The last lines to send of logs that are not in `from`; absent: all.
  std::optional<Tail> tail{};
  /// Sends only lines that were written within this time before now; absent: all.
  std::optional<std::chrono::milliseconds> since{};
  bool times = false;  ///< Sends the time of each piece of output before it.
  /// Continues until the job ends. Otherwise stops at the end of the present output.
  bool follow = true;
  /// If false, sends no output of ranks: only statuses, and the launcher's stderr from at most its
  /// last kLauncherTail bytes on.
  bool data = true;
  bool renew_lease = false;
  bool needs_begin = false;  ///< Fails with not_found if the supervisor has not begun.
  /// The lease is renewed only while bytes come on standard input, at least one in this time; 0 if
  /// the connection alone is a sign of life.
  std::chrono::milliseconds beats{0};
};

LogFollowOptions parse_follow_options(Arguments arguments);  ///< Throws usage.

}  // namespace fastgpu::agent
