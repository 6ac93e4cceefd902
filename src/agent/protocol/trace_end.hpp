// The ends of the timelines that ranks have written on a node, on their way to the report. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The last bytes of a rank's timeline, whatever the job has written there.
struct TraceEnd {
  int rank = 0;
  std::uint64_t size = 0;  ///< The size of the file.
  std::string text{};      ///< The whole file, or its last bytes.

  friend bool operator==(const TraceEnd&, const TraceEnd&) = default;
};

/// Returns them as the answer of `job-traces`.
std::string to_text(const std::vector<TraceEnd>& ends);
/// Parses that answer. Throws remote for another text.
std::vector<TraceEnd> parse_trace_ends(std::string_view text);

}  // namespace fastgpu::agent
