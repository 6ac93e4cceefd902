#include "agent/jobs/log_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

std::size_t read_at(const UniqueFd& file, std::span<char> buffer, std::uint64_t offset) {
  for (;;) {
    const ssize_t got =
        ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw system_error("reading a log", errno);
  }
}

std::uint64_t log_size(const UniqueFd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) throw system_error("looking at a log", errno);
  return static_cast<std::uint64_t>(about.st_size);
}

}  // namespace

LogSource::LogSource(int rank, OutputStream stream, const std::filesystem::path& path)
    : rank_(rank), stream_(stream), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path_(path) {
  if (!file_) throw system_error("opening " + path.string(), errno);
}

std::uint64_t LogSource::start_at_tail(std::uint64_t lines) {
  const std::uint64_t size = log_size(file_);
  offset_ = size;
  std::array<char, 65536> buffer;
  std::uint64_t newlines = 0;
  for (std::uint64_t end = size; end > 0 && lines > 0;) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, buffer.size());
    const std::size_t got = read_at(file_, std::span(buffer).first(end - begin), begin);
    for (std::size_t i = got; i-- > 0;) {
      // A newline at the very end completes the last line and does not begin another one.
      if (buffer[i] != '\n' || begin + i + 1 == size) continue;
      if (++newlines == lines) {
        offset_ = begin + i + 1;
        return lines;
      }
    }
    end = begin;
    offset_ = begin;
  }
  return offset_ < size ? newlines + 1 : 0;
}

void LogSource::skip_line() {
  std::array<char, 4096> buffer;
  while (const std::size_t got = read_at(file_, buffer, offset_)) {
    const std::size_t newline = std::string_view(buffer.data(), got).find('\n');
    offset_ += std::min(newline, got);
    if (newline == std::string_view::npos) continue;
    ++offset_;
    return;
  }
}

void LogSource::start_at_last_bytes(std::uint64_t bytes) {
  const std::uint64_t size = log_size(file_);
  offset_ = size - std::min(size, bytes);
}

void LogSource::load_times() {
  times_ = read_times(path_);
}

void LogSource::start_at_time(std::int64_t time) {
  load_times();
  offset_ = offset_at(times_, time);
  // The observation may be in the middle of a line, which began before.
  char before = '\n', c = 0;
  if (offset_ > 0) read_at(file_, {&before, 1}, offset_ - 1);
  while (before != '\n' && read_at(file_, {&c, 1}, offset_) == 1) {
    ++offset_;
    before = c;
  }
}

std::optional<std::int64_t> LogSource::time_here() const {
  const auto found = written_at(times_, offset_);
  if (!found) return std::nullopt;
  return found->time;
}

std::uint64_t LogSource::size() const {
  return log_size(file_);
}

bool LogSource::has_more() const {
  struct stat about {};
  return ::fstat(file_.get(), &about) == 0 && static_cast<std::uint64_t>(about.st_size) > offset_;
}

std::size_t LogSource::read(std::span<char> buffer) {
  if (const auto found = written_at(times_, offset_))
    buffer = buffer.first(std::min<std::uint64_t>(buffer.size(), found->size - offset_));
  const std::size_t got = read_at(file_, buffer, offset_);
  offset_ += got;
  return got;
}

void start_at_tail(std::span<LogSource* const> logs, std::uint64_t lines) {
  struct Rest {
    LogSource* log;
    std::uint64_t lines;
    std::int64_t time() const {
      return log->time_here().value_or(std::numeric_limits<std::int64_t>::max());
    }
  };
  std::vector<Rest> rests;
  std::uint64_t total = 0;
  for (LogSource* log : logs) {
    log->load_times();
    rests.push_back({log, log->start_at_tail(lines)});
    total += rests.back().lines;
  }
  for (; total > lines; --total) {
    const auto oldest = std::ranges::min_element(
        rests, {}, [](const Rest& rest) { return std::pair(rest.lines == 0, rest.time()); });
    oldest->log->skip_line();
    --oldest->lines;
  }
}

std::string log_name(int rank, OutputStream stream) {
  const std::string stem = rank == kLauncherRank ? "launcher" : std::to_string(rank);
  return stem + (stream == OutputStream::out ? ".out" : ".err");
}

}  // namespace fastgpu::agent
