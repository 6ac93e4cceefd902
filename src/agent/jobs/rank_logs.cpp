#include "agent/jobs/rank_logs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/files/reserved_file.hpp"
#include "agent/jobs/last_lines.hpp"
#include "base/contains.hpp"
#include "base/secret_text.hpp"

namespace fastgpu::agent {
namespace {

/// Returns the values of the job's variables that are secrets, or whose names sound like one.
std::vector<std::string> secrets_in(const JobPlan& plan) {
  std::vector<std::string> values;
  for (const std::string& assignment : plan.environment) {
    const auto equals = assignment.find('=');
    if (equals == assignment.npos) continue;
    const std::string name = assignment.substr(0, equals);
    if (contains(plan.secrets, name) || sounds_secret(name))
      values.push_back(assignment.substr(equals + 1));
  }
  return values;
}

}  // namespace

RankLogs open_logs(const std::filesystem::path& stem, OnFull on_full) {
  const std::string out = stem.string() + ".out", err = stem.string() + ".err";
  RankLogs logs{
      .out = open_for_append(out), .err = open_for_append(err), .clock = LogClock({out, err})};
  if (on_full == OnFull::drop) logs.pump = std::make_unique<LogPump>(logs.out, logs.err);
  return logs;
}

void note_in(const UniqueFd& log, const std::string& line) noexcept try {
  write_all(log.get(), line);
} catch (const Error&) {
  return;
}

void settle_logs(RankLogs& logs) {
  if (!logs.pump) return;
  logs.pump->leave_to_program();  // It may have failed to start.
  logs.pump->settle();
  logs.clock.finish();
}

bool has_output(const RankLogs& logs) {
  return std::ranges::any_of(std::array{logs.out.get(), logs.err.get()}, [](int log) {
    struct stat about {};
    return ::fstat(log, &about) == 0 && about.st_size > 0;
  });
}

void add_last_lines(RankEnd& end, const std::filesystem::path& stem, const JobPlan& plan) try {
  if (end.told || end.how.ok()) return;
  constexpr std::size_t kForKeys = kMostLastLines * 8;
  const std::size_t size = to_text(end).size() + kForKeys;
  if (size < ReservedFile::kRoom)
    end.last_lines = last_lines(stem, secrets_in(plan), ReservedFile::kRoom - size);
} catch (const Error&) {
  return;
}

}  // namespace fastgpu::agent
