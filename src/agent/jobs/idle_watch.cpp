#include "agent/jobs/idle_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/jobs/processes.hpp"
#include "base/error.hpp"
#include "base/split.hpp"
#include "base/wait_notice.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kQuietTraffic = 20'000;  ///< Bytes a second.
constexpr int kQuietShare = 100;                 ///< A hundredth of a core.
constexpr milliseconds kLongestSpan{5'000};
constexpr milliseconds kShortestIdleStep{500};
constexpr milliseconds kLongestIdleStep{10'000};

/// Returns the fields of /proc/PID/stat after the name, which may have any character.
std::istringstream fields_after_name(std::string_view stat) {
  const auto end = stat.rfind(')');
  return std::istringstream(std::string(end == std::string_view::npos ? "" : stat.substr(end + 1)));
}

std::string proc_text(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns true if a figure is smaller, as a process or an interface has gone, or the output grows.
bool has_changed(const Activity& before, const Activity& now) {
  return now.output != before.output || now.cpu < before.cpu || now.traffic < before.traffic;
}

bool is_busy(const Activity& before, const Activity& now, milliseconds passed) {
  if ((now.cpu - before.cpu) * kQuietShare >= passed) return true;
  const auto quiet = kQuietTraffic * static_cast<std::uint64_t>(passed.count()) / 1'000;
  return now.traffic - before.traffic >= std::max<std::uint64_t>(quiet, 1);
}

}  // namespace

IdleClock::IdleClock(milliseconds limit) : span_(std::min(limit, kLongestSpan)) {}

milliseconds IdleClock::observe(Time now, const Activity& seen) {
  while (seen_.size() > 1 && now - seen_[1].time >= span_)
    seen_.pop_front();
  const auto is_active = [&] {
    if (seen_.empty() || has_changed(seen_.back().activity, seen)) return true;
    const Observation& first = seen_.front();
    const auto passed = std::chrono::duration_cast<milliseconds>(now - first.time);
    return is_busy(first.activity, seen, std::max(passed, span_));
  };
  if (is_active()) {
    active_at_ = now;
    seen_.clear();
  }
  seen_.push_back({.time = now, .activity = seen});
  return std::chrono::duration_cast<milliseconds>(now - active_at_);
}

std::optional<milliseconds> cpu_time_in(std::string_view stat, long ticks) {
  constexpr int kBeforeTimes = 11;  // State, parent, and so on.
  auto fields = fields_after_name(stat);
  std::string skipped;
  for (int i = 0; i < kBeforeTimes; ++i)
    fields >> skipped;
  std::int64_t total = 0;
  for (int i = 0; i < 4; ++i) {
    std::int64_t time = 0;
    if (!(fields >> time)) return std::nullopt;
    total += time;
  }
  return milliseconds(total * 1'000 / std::max(ticks, 1L));
}

pid_t parent_in(std::string_view stat) {
  auto fields = fields_after_name(stat);
  std::string state;
  pid_t parent = 0;
  return fields >> state >> parent ? parent : 0;
}

std::uint64_t traffic_in(std::string_view net_dev) {
  std::istringstream lines{std::string(net_dev)};
  std::uint64_t total = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(line.find_first_not_of(' '), colon);
    if (name.starts_with("lo:")) continue;
    std::istringstream figures(line.substr(colon + 1));
    std::array<std::uint64_t, 9> columns{};  // Received bytes first, sent bytes ninth.
    for (std::uint64_t& column : columns)
      figures >> column;
    if (figures) total += columns.front() + columns.back();
  }
  return total;
}

std::uint64_t output_in(std::string_view piece) {
  std::uint64_t bytes = piece.size();
  for (const std::string_view line : split_lines(piece))
    if (is_wait_notice(line)) {
      const bool has_end = line.data() + line.size() < piece.data() + piece.size();
      bytes -= line.size() + (has_end ? 1 : 0);
    }
  return bytes;
}

std::vector<pid_t> family_of(pid_t process) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_pids())
    children.emplace(parent_in(proc_file(pid, "stat")), pid);
  std::vector<pid_t> family;
  if (!proc_file(process, "stat").empty()) family.push_back(process);
  for (std::size_t i = 0; i < family.size(); ++i) {
    const auto [begin, end] = children.equal_range(family[i]);
    for (auto child = begin; child != end; ++child)
      if (std::ranges::find(family, child->second) == family.end()) family.push_back(child->second);
  }
  return family;
}

IdleWatch::IdleWatch(milliseconds limit, const std::filesystem::path& stem,
                     const std::vector<std::filesystem::path>& logs, pid_t program)
    : limit_(limit),
      every_(std::clamp(limit / 10, kShortestIdleStep, kLongestIdleStep)),
      mark_(stem.string() + ".idle"),
      id_file_(stem.string() + ".pid"),
      program_(program),
      clock_(limit) {
  for (const std::filesystem::path& log : logs)
    logs_.push_back({.path = log});
  if (limit_.count() <= 0) return;
  try {
    write_atomically(id_file_, std::to_string(program_));
  } catch (const Error&) {
    return;  // The disk is full: there will be no stacks.
  }
}

IdleWatch::~IdleWatch() {
  if (limit_.count() <= 0) return;
  ::unlink(mark_.c_str());
  ::unlink(id_file_.c_str());
}

int IdleWatch::wait() const noexcept {
  if (limit_.count() <= 0) return -1;
  const auto left =
      std::chrono::ceil<milliseconds>(next_ - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongestIdleStep.count()));
}

void IdleWatch::look() noexcept try {
  if (limit_.count() <= 0 || std::chrono::steady_clock::now() < next_) return;
  next_ = std::chrono::steady_clock::now() + every_;
  observe();
} catch (const std::exception&) {
  return;  // The next observation may succeed.
}

void IdleWatch::observe() {
  const bool is_idle = clock_.observe(std::chrono::steady_clock::now(), activity()) >= limit_;
  if (is_idle == is_marked_) return;
  if (is_idle)
    write_atomically(mark_, "");
  else
    ::unlink(mark_.c_str());
  is_marked_ = is_idle;
}

/// Counts what the log has more than before.
void IdleWatch::look_at(Log& log) {
  // More than that is no waiting.
  constexpr std::uint64_t kMostNotices = 64UL * 1024;
  std::error_code none;
  const auto size = std::filesystem::file_size(log.path, none);
  if (none || size == log.size) return;
  const bool may_be_notices = size > log.size && size - log.size <= kMostNotices;
  std::ifstream in(log.path, std::ios::binary);
  std::string piece(may_be_notices ? size - log.size : 0, '\0');
  const bool is_read = may_be_notices && in.seekg(static_cast<std::streamoff>(log.size)) &&
                       in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
  log.output += is_read ? output_in(piece) : 1;
  log.size = size;
}

Activity IdleWatch::activity() {
  Activity seen{.traffic = traffic_in(proc_text("/proc/net/dev"))};
  for (Log& log : logs_) {
    look_at(log);
    seen.output += log.output;
  }
  const long ticks = ::sysconf(_SC_CLK_TCK);
  for (const pid_t pid : family_of(program_))
    seen.cpu += cpu_time_in(proc_file(pid, "stat"), ticks).value_or(milliseconds(0));
  return seen;
}

}  // namespace fastgpu::agent
