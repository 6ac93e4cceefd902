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
#include "base/split.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::uint64_t kTailOfLog = 64UL << 10U;
constexpr std::size_t kShortestSecret = 4;

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

/// Cuts a text to a number of bytes, and not in the middle of a character.
void cut_text(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  constexpr unsigned kMask = 0xC0, kInside = 0x80;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & kMask) == kInside)
    --most;
  text.resize(most);
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
    std::string text = without_secrets(shown_line(line), secrets);
    if (is_part || trimmed(text, " \t\r").empty()) continue;
    cut_text(text, kLongestLastLine);
    found.push_back(
        {written ? written->time : std::numeric_limits<std::int64_t>::max(), std::move(text)});
  }
  const std::size_t kept = std::min(found.size(), kMostLastLines);
  std::move(found.end() - static_cast<std::ptrdiff_t>(kept), found.end(),
            std::back_inserter(lines));
}

void mask(std::string& text, std::string_view secret) {
  constexpr std::string_view kMask = "***";
  if (secret.size() < kShortestSecret) return;
  for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at + kMask.size()))
    text.replace(at, secret.size(), kMask);
}

}  // namespace

std::string shown_line(std::string_view line) {
  while (line.ends_with('\r'))
    line.remove_suffix(1);
  line.remove_prefix(line.rfind('\r') + 1);
  std::string text(line);
  std::erase(text, '\0');
  return text;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    mask(text, secret);
    for (const std::string_view line : split_lines(secret))
      mask(text, line);
  }
  return text;
}

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
