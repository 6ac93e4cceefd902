#include "agent/jobs/memory_events.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "agent/jobs/processes.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr std::string_view kCount = "oom_kill ";
constexpr std::chrono::milliseconds kBetweenCounts{1'000};
/// The time from the rise of the count to the signal, at most.
constexpr std::chrono::milliseconds kSignalFollows{1'000};

/// Returns the content; absent if the file cannot be read. The size of such files is unknown.
std::optional<std::string> event_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Returns true if the memory controller is in the list "cpu,memory".
bool has_memory(std::string_view controllers) {
  const std::string list = "," + std::string(controllers) + ",";
  return list.find(",memory,") != std::string::npos;
}

}  // namespace

std::int64_t oom_kills_in(std::string_view text) {
  std::int64_t count = 0;
  for (const std::string_view line : split_lines(text))
    if (line.starts_with(kCount))
      count = leading_number<std::int64_t>(line.substr(kCount.size())).value_or(count);
  return count;
}

std::vector<fs::path> memory_event_files(std::string_view cgroups) {
  std::vector<fs::path> files;
  for (const std::string_view line : split_lines(cgroups)) {
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (controllers.empty()) files.push_back(kGroups + path + "/memory.events");
    if (has_memory(controllers))
      for (const std::string& below :
           {path, std::string()})  // A container sees its own as the root.
        files.push_back(kGroups + ("/memory" + below) + "/memory.oom_control");
  }
  files.emplace_back("/proc/vmstat");
  return files;
}

bool is_being_killed(std::string_view stat, std::string_view status) {
  // The fields after the name are state, parent, group, and so on.
  constexpr std::size_t kFlagsField = 6;
  // PF_EXITING of the kernel.
  constexpr std::uint64_t kExiting = 4;
  const auto end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return true;
  const auto fields = split_words(stat.substr(end_of_name + 1));
  const bool has_ended = fields.empty() || fields.front() == "Z" || fields.front() == "X";
  if (has_ended) return true;
  const auto flags =
      fields.size() > kFlagsField ? leading_number<std::uint64_t>(fields[kFlagsField]) : 0;
  if ((flags.value_or(0) & kExiting) != 0) return true;
  constexpr std::uint64_t kKill = 1ULL << (SIGKILL - 1);
  for (const std::string_view line : split_lines(status)) {
    const auto words = split_words(line);
    const bool is_pending =
        words.size() == 2 && (words.front() == "SigPnd:" || words.front() == "ShdPnd:");
    if (is_pending && (std::strtoull(std::string(words.back()).c_str(), nullptr, 16) & kKill) != 0)
      return true;
  }
  return false;
}

void KillCount::observe(Time now, std::int64_t count, bool is_being_killed) {
  if (count > count_) risen_at_ = now;
  count_ = count;
  if (is_being_killed && risen_at_ && now - *risen_at_ <= kSignalFollows) was_the_program_ = true;
}

MemoryWatch::MemoryWatch(pid_t program, const fs::path& group) : program_(program) {
  if (!group.empty()) {
    const fs::path counts = group / "memory.events";
    const auto text = event_text(counts);
    if (text && text->find(kCount) != std::string::npos) {
      file_ = counts;
      // The group is new: its count began with the program.
      return;
    }
  }
  for (const fs::path& file : memory_event_files(event_text("/proc/self/cgroup").value_or(""))) {
    const auto text = event_text(file);
    if (!text || text->find(kCount) == std::string::npos) continue;
    file_ = file;
    kills_ = KillCount(oom_kills_in(*text));
    return;
  }
}

int MemoryWatch::wait() const noexcept {
  if (file_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(next_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kBetweenCounts.count()));
}

void MemoryWatch::look() {
  if (file_.empty() || std::chrono::steady_clock::now() < next_) return;
  next_ = std::chrono::steady_clock::now() + kBetweenCounts;
  observe(is_being_killed(proc_file(program_, "stat"), proc_file(program_, "status")));
}

bool MemoryWatch::has_killed() {
  if (!file_.empty()) observe(true);
  return kills_.was_the_program();
}

void MemoryWatch::observe(bool is_being_killed) {
  const auto text = event_text(file_);
  if (text) kills_.observe(std::chrono::steady_clock::now(), oom_kills_in(*text), is_being_killed);
}

}  // namespace fastgpu::agent
