// What the nodes of a chain say at its end of the copy that went through them: a line a node,
// "DISTANCE STATUS TEXT", where distance 0 is who speaks, 1 the node after it, and so on. Status is
// 0 and the text the sum of the stream's account, or a failure_status and its message.
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

/// More nodes than any chain has.
inline constexpr std::size_t kMaxDistance = 1 << 20;

/// Those of `text` that are whole; what is no report is passed over.
std::vector<RelayReport> parse_reports(std::string_view text);

}  // namespace fastgpu::transfer
