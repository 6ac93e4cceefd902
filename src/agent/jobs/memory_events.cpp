#include "agent/jobs/memory_events.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr std::string_view kCount = "oom_kill ";

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

MemoryWatch::MemoryWatch(const fs::path& group) {
  if (!group.empty()) {
    const fs::path counts = group / "memory.events";
    const auto text = event_text(counts);
    if (text && text->find(kCount) != std::string::npos) {
      file_ = counts;
      return;  // The group is new: every kill in it counts.
    }
  }
  for (const fs::path& file : memory_event_files(event_text("/proc/self/cgroup").value_or(""))) {
    const auto text = event_text(file);
    if (!text || text->find(kCount) == std::string::npos) continue;
    file_ = file;
    before_ = oom_kills_in(*text);
    return;
  }
}

bool MemoryWatch::has_killed() const {
  if (file_.empty()) return false;
  return oom_kills_in(event_text(file_).value_or("")) > before_;
}

}  // namespace fastgpu::agent
