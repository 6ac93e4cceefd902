#include "launcher/kubernetes/log_lines.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::launcher {
namespace {

/// A longer line is passed on in pieces, to bound the memory.
constexpr std::size_t kLongestPodLine = std::size_t{64} << 10;

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

struct Tag {
  int rank = agent::kLauncherRank;
  agent::OutputStream stream = agent::OutputStream::err;
  std::string_view text{};
};

/// Parses the tag of mpirun: "[1,3]<stdout>:" of Open MPI 4, "[job@1,3]<stdout>: " of later ones.
/// A line without one is mpirun's own.
Tag parse_tag(std::string_view line, int ranks) {
  constexpr std::size_t kLongestTag = 200;
  const Tag own{.text = line};
  const auto close = line.substr(0, kLongestTag).find(']');
  if (!line.starts_with('[') || close == line.npos) return own;
  const std::string_view inside = line.substr(1, close - 1);
  const auto comma = inside.rfind(',');
  if (comma == inside.npos || comma == 0) return own;
  int rank = -1;
  const char* const end = inside.data() + inside.size();
  const auto parsed = std::from_chars(inside.data() + comma + 1, end, rank);
  if (parsed.ec != std::errc() || parsed.ptr != end || rank < 0 || rank >= ranks) return own;
  std::string_view rest = line.substr(close + 1);
  Tag tag{.rank = rank};
  if (rest.starts_with("<stdout>:"))
    tag.stream = agent::OutputStream::out;
  else if (!rest.starts_with("<stderr>:"))
    return own;
  rest.remove_prefix(std::string_view("<stdout>:").size());
  if (inside.find('@') != inside.npos && rest.starts_with(' ')) rest.remove_prefix(1);
  tag.text = rest;
  return tag;
}

}  // namespace

std::optional<std::int64_t> parse_pod_time(std::string_view text) {
  using namespace std::chrono;
  const auto year_of = digits(text, 0, 4), month_of = digits(text, 5, 2),
             day_of = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year_of || !month_of || !day_of || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const year_month_day date{year(*year_of), month(static_cast<unsigned>(*month_of)),
                            day(static_cast<unsigned>(*day_of))};
  constexpr int kLastYear = 2261;  // A later time has no 64 bits of nanoseconds.
  if (!date.ok() || *year_of < 1970 || *year_of > kLastYear || *hour > 23 || *minute > 59 ||
      *second > 60)
    return std::nullopt;
  std::int64_t fraction = 0;
  std::size_t at = 19;
  if (at < text.size() && text[at] == '.') {
    std::int64_t unit = 100'000'000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10)
      fraction += unit * (text[at] - '0');
  }
  if (text.substr(at) != "Z") return std::nullopt;
  const auto time =
      sys_days(date).time_since_epoch() + hours(*hour) + minutes(*minute) + seconds(*second);
  return duration_cast<nanoseconds>(time).count() + fraction;
}

void PodLog::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end == bytes.npos ? end : end + 1);
    bytes.remove_prefix(piece.size());
    if (open_)
      pass_on(*open_, piece);
    else if (held_.empty() && end != piece.npos)
      begin_line(piece);
    else if (held_ += piece; end != piece.npos || held_.size() >= kLongestPodLine)
      begin_line(std::exchange(held_, {}));
    if (end != piece.npos) open_.reset();
  }
}

void PodLog::end(bool is_complete) {
  if (is_complete && !held_.empty()) begin_line(held_);
  held_.clear();
  seen_until_ = last_;
  seen_then_ = count_;
  seen_bytes_ = 0;
  if (open_ && !is_complete && !open_->is_seen) {  // It is read again, and then to its end.
    seen_bytes_ = open_->bytes + open_->skip;
    seen_then_ = --count_;
  }
  open_.reset();
}

void PodLog::begin_line(std::string_view line) {
  const auto space = line.find(' ');
  const auto time = parse_pod_time(line.substr(0, space));
  if (!time || space == line.npos)
    throw Error(ErrorKind::remote, "the log of the launcher has a line without a time");
  open_ = OpenLine{.time = *time};
  open_->is_seen =
      seen_until_ && (*time < *seen_until_ || (*time == *seen_until_ && seen_then_ > 0));
  if (open_->is_seen) {
    if (*time == *seen_until_) --seen_then_;
    return;
  }
  const bool is_continued = seen_until_ == *time;
  open_->skip = is_continued ? std::exchange(seen_bytes_, 0) : 0;
  seen_until_.reset();
  count_ = last_ == *time ? count_ + 1 : 1;
  last_ = *time;
  const Tag tag = parse_tag(line.substr(space + 1), ranks_);
  open_->rank = tag.rank;
  open_->stream = tag.stream;
  pass_on(*open_, tag.text);
}

void PodLog::pass_on(OpenLine& line, std::string_view text) {
  if (line.is_seen) return;
  line.bytes += text.size();
  const std::size_t skipped = std::min(line.skip, text.size());
  line.skip -= skipped;
  text.remove_prefix(skipped);
  if (!text.empty() || line.bytes == 0)
    sink_({.rank = line.rank, .stream = line.stream, .time = line.time, .text = text});
}

}  // namespace fastgpu::launcher
