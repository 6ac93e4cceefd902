#include "agent/protocol/status.hpp"

#include <array>

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::array<std::string_view, 5> kCauses = {"none", "request", "timeout", "lease",
                                                     "vanished"};

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
  if (end.sent) records.add("sent", *end.sent);
  return records.text();
}

std::string to_text(const JobEnd& end) {
  Records records;
  add_how(records, end.how);
  records.add("ended", end.ended);
  records.add("cause", kCauses.at(static_cast<std::size_t>(end.cause)));
  records.add("host", end.host);
  records.add("reason", end.reason);
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
      .sent = records.all("sent").empty() ? std::nullopt : std::optional(records.number("sent"))};
}

JobEnd parse_job_end(std::string_view text) {
  const Records records(text, "job status");
  return {.how = get_how(records),
          .ended = records.number("ended"),
          .cause = parse_cause(records.get("cause")),
          .host = sentence(records, "host"),
          .reason = sentence(records, "reason")};
}

}  // namespace fastgpu::agent
