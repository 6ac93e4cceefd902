#include "state/silence.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <system_error>

#include "base/numbers.hpp"
#include "state/directory.hpp"

namespace fastgpu::state {
namespace {

/// Attempts of a wait that follow each other soon are one.
constexpr std::chrono::seconds kBetweenNotes{2};

std::int64_t note_time(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::optional<TimePoint> read_note_time(std::istream& lines) {
  std::string line;
  if (!std::getline(lines, line)) return std::nullopt;
  const auto count = to_number<std::int64_t>(line);
  if (!count) return std::nullopt;
  return TimePoint(std::chrono::milliseconds(*count));
}

}  // namespace

std::filesystem::path silence_file(const std::filesystem::path& directory, const ClusterId& cluster,
                                   const NodeName& node) {
  std::string name = node.value;
  std::ranges::replace(name, '/', '_');
  return cluster_directory(directory, cluster) / "silent" / name;
}

std::optional<Silence> find_silence(const std::filesystem::path& file) noexcept try {
  std::ifstream lines(file);
  if (!lines) return std::nullopt;
  const auto since = read_note_time(lines);
  const auto tried = read_note_time(lines);
  if (!since || !tried) return std::nullopt;
  Silence silence{.since = *since, .tried = *tried};
  std::getline(lines, silence.reason);
  return silence;
} catch (const std::exception&) {
  return std::nullopt;
}

void note_silence(const std::filesystem::path& file, const std::string& reason) noexcept try {
  const auto now = std::chrono::system_clock::now();
  const auto earlier = find_silence(file);
  if (earlier && earlier->tried <= now && now - earlier->tried < kBetweenNotes) return;
  const TimePoint since = earlier ? std::min<TimePoint>(earlier->since, now) : now;
  // Not with its parents: they are removed with the cluster.
  ::mkdir(file.parent_path().c_str(), 0700);
  std::error_code none;
  if (!std::filesystem::is_directory(file.parent_path(), none)) return;
  write_private_file(file, std::to_string(note_time(since)) + "\n" +
                               std::to_string(note_time(now)) + "\n" +
                               reason.substr(0, reason.find('\n')) + "\n");
} catch (const std::exception&) {
  return;  // A full or read-only disk.
}

void end_silence(const std::filesystem::path& file) noexcept {
  ::unlink(file.c_str());
}

}  // namespace fastgpu::state
