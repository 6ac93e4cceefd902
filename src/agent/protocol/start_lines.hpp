// The lines by which the programs that start the ranks of a job name nodes that do not begin. They
// are part of the launcher's stderr.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The time after which a node that has not begun is named.
inline constexpr std::chrono::seconds kLateStart{5};
/// The time after which it fails the job: a loaded node reads its programs slowly from a network.
inline constexpr std::chrono::seconds kLatestStart{60};

/// A node whose part of the job did not begin.
struct FailedStart {
  std::string node;
  std::string why;
};

/// Returns "node demo-1 has not begun: WHY\n", with the first line of `why`.
std::string failed_start_line(const FailedStart& start);
/// Returns "still waiting for node demo-1 to begin\n".
std::string late_start_line(const std::string& node);

/// Returns the failed starts in `words`, each node once, in the order of their lines.
std::vector<FailedStart> parse_failed_starts(std::string_view words);
/// Returns the names of the late nodes in `words`.
std::set<std::string> parse_late_starts(std::string_view words);

}  // namespace fastgpu::agent
