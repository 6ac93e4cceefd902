#include "agent/protocol/status.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::array<std::string_view, 6> kCauses = {"none",  "request",  "timeout",
                                                     "lease", "vanished", "cut_off"};

StopCause parse_cause(const std::string& text) {
  for (std::size_t i = 0; i < kCauses.size(); ++i)
    if (kCauses[i] == text) return static_cast<StopCause>(i);
  throw Error(ErrorKind::remote, "job status: '" + printable(text) + "' is not a cause");
}

void add_how(Records& records, const process::ExitStatus& how) {
  records.add("code", how.code);
  records.add("signal", how.signal);
}

process::ExitStatus get_how(const Records& records) {
  return {.code = static_cast<int>(records.number("code") & 255),
          .signal = static_cast<int>(records.number("signal") & 127)};
}

/// Returns the text, cut to a limit, because a node could send any amount for every rank.
std::string sentence(const Records& records, const char* key) {
  constexpr std::size_t kLongest = 1'024;
  return records.get(key).substr(0, kLongest);
}

/// Returns a number that may be missing in `records`; absent, too, for one that no rank has.
std::optional<int> optional_rank(const Records& records, const char* key) {
  if (records.all(key).empty()) return std::nullopt;
  const std::int64_t number = records.number(key);
  return number >= 0 && std::in_range<int>(number) ? std::optional(static_cast<int>(number))
                                                   : std::nullopt;
}

std::vector<std::string> last_lines_in(const Records& records) {
  std::vector<std::string> lines = records.all("line");
  if (lines.size() > kMostLastLines) lines.resize(kMostLastLines);
  for (std::string& line : lines)
    line.resize(std::min(line.size(), kLongestLastLine));
  return lines;
}

}  // namespace

std::string to_text(const RankEnd& end) {
  Records records;
  records.add("rank", end.rank);
  add_how(records, end.how);
  records.add("ended", end.ended);
  if (end.began != 0) records.add("began", end.began);
  records.add("told", end.told ? 1 : 0);
  records.add("host", end.host);
  records.add("reason", end.reason);
  records.add("full", end.full);
  if (end.out_of_memory) records.add("memory", 1);
  if (end.blames) records.add("blames", *end.blames);
  if (end.sent) records.add("sent", *end.sent);
  for (const std::string& line : end.last_lines)
    records.add("line", line);
  return records.text();
}

std::string to_text(const JobEnd& end) {
  Records records;
  add_how(records, end.how);
  records.add("ended", end.ended);
  records.add("cause", kCauses.at(static_cast<std::size_t>(end.cause)));
  records.add("host", end.host);
  records.add("reason", end.reason);
  if (end.cut_off) records.add("cut_off", *end.cut_off);
  if (end.ordered) records.add("ordered", 1);
  return records.text();
}

RankEnd parse_rank_end(std::string_view text) {
  const Records records(text, "rank status");
  return {
      .rank = static_cast<int>(records.number("rank")),
      .how = get_how(records),
      .ended = records.number("ended"),
      .began = records.all("began").empty() ? 0 : records.number("began"),
      .told = records.number("told") != 0,
      .host = sentence(records, "host"),
      .reason = sentence(records, "reason"),
      .full = sentence(records, "full"),
      .out_of_memory = !records.all("memory").empty(),
      .blames = optional_rank(records, "blames"),
      .last_lines = last_lines_in(records),
      .sent = records.all("sent").empty() ? std::nullopt : std::optional(records.number("sent"))};
}

JobEnd parse_job_end(std::string_view text) {
  const Records records(text, "job status");
  return {.how = get_how(records),
          .ended = records.number("ended"),
          .cause = parse_cause(records.get("cause")),
          .host = sentence(records, "host"),
          .reason = sentence(records, "reason"),
          .cut_off = records.all("cut_off").empty()
                         ? std::nullopt
                         : std::optional(static_cast<int>(records.number("cut_off"))),
          .ordered = !records.all("ordered").empty()};
}

}  // namespace fastgpu::agent
