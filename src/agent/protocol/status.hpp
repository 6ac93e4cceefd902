// The outcomes of ranks and jobs, as records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process/exit_status.hpp"

namespace fastgpu::agent {

inline constexpr std::size_t kMostLastLines = 20;
inline constexpr std::size_t kLongestLastLine = 400;  ///< Bytes.

struct RankEnd {
  int rank = 0;
  process::ExitStatus how{};
  std::int64_t ended = 0;  ///< Nanoseconds since 1970 by the node's clock.
  std::int64_t began = 0;  ///< The time of its start by the same clock; 0 if it is unknown.
  bool told = false;       ///< True if it was ordered to stop before it ended.
  std::string host;
  std::string reason;          ///< Why it could not run; may be empty.
  std::string full{};          ///< The folder of its logs, if the disk was full at its end.
  bool out_of_memory = false;  ///< The kernel killed it because its memory was used up.
  /// The rank that its program blames for its failure; only if it failed by itself.
  std::optional<int> blames{};
  /// The last lines of its output, at most kMostLastLines; only if it failed by itself.
  std::vector<std::string> last_lines{};
  /// The node's clock when it sent this, in nanoseconds since 1970; absent on the disk.
  std::optional<std::int64_t> sent{};
};

enum class StopCause : std::uint8_t {
  none,      ///< The job ended by itself.
  request,   ///< A client requested it.
  timeout,   ///< The job reached its time limit.
  lease,     ///< The owner showed no sign of life.
  vanished,  ///< The supervisor left no status: it was killed, or the node was restarted.
  cut_off,   ///< The node of a rank did not answer the supervisor.
};

struct JobEnd {
  process::ExitStatus how{};
  std::int64_t ended = 0;
  StopCause cause = StopCause::none;
  std::string host;
  std::string reason;            ///< Why it could not be started; may be empty.
  std::optional<int> cut_off{};  ///< The rank whose node did not answer.
  /// True if an order to stop came to the node just after that end. It may have come to others
  /// before, and ended ranks there. Not on the disk.
  bool ordered = false;
};

std::string to_text(const RankEnd& end);
std::string to_text(const JobEnd& end);
RankEnd parse_rank_end(std::string_view text);  ///< Throws remote.
JobEnd parse_job_end(std::string_view text);    ///< Throws remote.

}  // namespace fastgpu::agent
