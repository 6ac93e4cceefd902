#include "agent/jobs/log_times.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "agent/files/disk.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestRest{20};
constexpr milliseconds kWithoutWatch{200};
constexpr int kRestsInLife = 100'000;
constexpr std::size_t kLargestIndex = 256UL << 20U;

static_assert(sizeof(LogTime) == 16, "an index is an array of these in the node's byte order");

std::uint64_t size_of(const UniqueFd& file) {
  struct stat about {};
  return ::fstat(file.get(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

}  // namespace

std::optional<LogTime> written_at(std::span<const LogTime> times, std::uint64_t offset) {
  const auto found = std::ranges::upper_bound(times, offset, {}, &LogTime::size);
  if (found == times.end()) return std::nullopt;
  return *found;
}

std::uint64_t offset_at(std::span<const LogTime> times, std::int64_t time) {
  const auto found = std::ranges::lower_bound(times, time, {}, &LogTime::time);
  return found == times.begin() ? 0 : std::prev(found)->size;
}

std::filesystem::path times_path(const std::filesystem::path& log) {
  return log.string() + ".times";
}

std::vector<LogTime> read_times(const std::filesystem::path& log) {
  const auto text = read_file(times_path(log), kLargestIndex);
  if (!text) return {};
  std::vector<LogTime> times(text->size() / sizeof(LogTime));  // The last one may be incomplete.
  if (!times.empty()) std::memcpy(times.data(), text->data(), times.size() * sizeof(LogTime));
  // A clock that was set back would break the search.
  for (std::size_t i = 1; i < times.size(); ++i)
    times[i].time = std::max(times[i].time, times[i - 1].time);
  return times;
}

LogClock::LogClock(const std::vector<std::filesystem::path>& logs) {
  for (const auto& path : logs) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    Log log{.log = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
            .index = UniqueFd(::open(times_path(path).c_str(), flags, 0600))};
    if (!log.log || !log.index) continue;
    log.size = size_of(log.log);
    logs_.push_back(std::move(log));
    watch_.add(path);
  }
}

int LogClock::wait() const noexcept {
  if (is_resting()) {
    const auto left = std::chrono::ceil<milliseconds>(next_ - SteadyClock::now());
    return static_cast<int>(std::max(milliseconds(0), left).count());
  }
  return watch_.fd() >= 0 ? -1 : static_cast<int>(kWithoutWatch.count());
}

void LogClock::look() noexcept {
  if (is_resting()) return;
  watch_.clear();
  finish();
}

bool LogClock::has_output() const noexcept {
  return std::ranges::any_of(logs_, [](const Log& log) { return log.size > 0; });
}

void LogClock::finish() noexcept {
  bool has_grown = false;
  for (Log& log : logs_) {
    const std::uint64_t size = size_of(log.log);
    if (size <= log.size) continue;
    has_grown = true;
    log.size = size;
    const LogTime now{.time = now_ns(), .size = size};
    if (::write(log.index.get(), &now, sizeof now) != sizeof now) continue;  // The disk is full.
  }
  if (!has_grown) return;
  const auto now = SteadyClock::now();
  const auto share = std::chrono::duration_cast<milliseconds>(now - begin_) / kRestsInLife;
  next_ = now + std::max(kShortestRest, share);
}

}  // namespace fastgpu::agent
