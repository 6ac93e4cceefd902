// The reports of a chain's nodes after a copy, one per line: "DISTANCE STATUS TEXT". The distance
// is 0 for the reporting node, 1 for the node after it, and so on. If the status is 0, the text is
// the checksum of the stream's account. Otherwise the status is a failure_status() and the text its
// message.
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

/// A limit that no chain reaches.
inline constexpr std::size_t kMaxDistance = 1 << 20;

/// Returns the complete reports in `text`; skips malformed lines.
std::vector<RelayReport> parse_reports(std::string_view text);

}  // namespace fastgpu::transfer
