// The logs of a rank: where its program writes, and what of it goes into the report of its end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "agent/jobs/log_pump.hpp"
#include "agent/jobs/log_times.hpp"
#include "agent/protocol/plan.hpp"
#include "agent/protocol/status.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// The logs of a rank.
struct RankLogs {
  UniqueFd out;
  UniqueFd err;
  LogClock clock;
  std::unique_ptr<LogPump> pump{};  ///< Null if the program writes its logs itself.
};

/// Opens the logs `stem`.out and `stem`.err.
RankLogs open_logs(const std::filesystem::path& stem, OnFull on_full);

/// Adds a line to a log. Ignores failures, because the outcome of the rank matters more.
void note_in(const UniqueFd& log, const std::string& line) noexcept;

/// Waits until the logs have all that the program wrote.
void settle_logs(RankLogs& logs);

/// Returns true if the rank has written anything.
bool has_output(const RankLogs& logs);

/// Adds the end of the rank's output to the report of a rank that failed by itself, as far as the
/// reserved file has room for it. Ignores failures, because the outcome of the rank matters more.
void add_last_lines(RankEnd& end, const std::filesystem::path& stem, const JobPlan& plan);

}  // namespace fastgpu::agent
