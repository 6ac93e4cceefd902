#include "agent/jobs/last_lines.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "agent/jobs/log_times.hpp"
#include "agent/protocol/status.hpp"
#include "base/secret_text.hpp"
#include "base/shown_line.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::uint64_t kTailOfLog = 64UL << 10U;

struct TimedLine {
  std::int64_t time = 0;
  std::string text;
};

/// The end of a log, which begins at `offset`.
struct LogEnd {
  std::uint64_t offset = 0;
  std::string bytes{};
};

/// Returns the end of a log; empty if it cannot be read.
LogEnd end_of_log(const std::filesystem::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return {};
  const auto size = static_cast<std::uint64_t>(about.st_size);
  LogEnd end{.offset = size - std::min(size, kTailOfLog)};
  end.bytes.resize(size - end.offset);
  const ssize_t got =
      ::pread(file.get(), end.bytes.data(), end.bytes.size(), static_cast<off_t>(end.offset));
  end.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return end;
}

/// Appends the last lines of a log, each with the time at which its end was written.
void append_lines(std::vector<TimedLine>& lines, const std::filesystem::path& log,
                  const std::vector<std::string>& secrets) {
  const LogEnd end = end_of_log(log);
  const auto times = read_times(log);
  std::vector<TimedLine> found;
  std::uint64_t offset = end.offset;
  bool is_whole = offset == 0;  // A part of a line may have a part of a secret.
  for (const std::string_view line : split_lines(end.bytes)) {
    offset += line.size();
    const bool is_part = !std::exchange(is_whole, true);
    const auto written = written_at(times, offset - (line.empty() ? 0 : 1));
    ++offset;
    std::string text = cut_to(without_secrets(shown_line(line), secrets), kLongestLastLine);
    if (is_part || trimmed(text, " \t\r").empty()) continue;
    found.push_back(
        {written ? written->time : std::numeric_limits<std::int64_t>::max(), std::move(text)});
  }
  const std::size_t kept = std::min(found.size(), kMostLastLines);
  std::move(found.end() - static_cast<std::ptrdiff_t>(kept), found.end(),
            std::back_inserter(lines));
}

}  // namespace

std::vector<std::string> last_lines(const std::filesystem::path& stem,
                                    const std::vector<std::string>& secrets,
                                    std::size_t most_bytes) {
  std::vector<TimedLine> lines;
  append_lines(lines, stem.string() + ".out", secrets);
  append_lines(lines, stem.string() + ".err", secrets);
  std::ranges::stable_sort(lines, {}, &TimedLine::time);
  std::vector<std::string> last;
  std::size_t bytes = 0;
  for (auto line = lines.rbegin(); line != lines.rend() && last.size() < kMostLastLines; ++line) {
    bytes += line->text.size() + 1;
    if (bytes > most_bytes) break;
    last.push_back(std::move(line->text));
  }
  std::ranges::reverse(last);
  return last;
}

}  // namespace fastgpu::agent
