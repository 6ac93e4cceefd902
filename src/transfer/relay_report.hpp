// The reports of a chain's nodes at the end of a copy through them: a line a node, "DISTANCE STATUS
// TEXT". Distance 0 is the reporting node, 1 the node after it, and so on. Status is 0 and the text
// the sum of the stream's account, or a failure_status and its message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::transfer {

struct RelayReport {
  std::size_t distance = 0;
  int status = 0;
  std::string text;
};

std::string to_line(const RelayReport& report);

/// A limit that no chain's length reaches.
inline constexpr std::size_t kMaxDistance = 1 << 20;

/// Returns the complete reports in `text`; skips malformed lines.
std::vector<RelayReport> parse_reports(std::string_view text);

}  // namespace fastgpu::transfer
