#include "base/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/split.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

/// One part in so many stays free for everything else: the kernel ends processes before it has used
/// up what it calls available.
constexpr std::uint64_t kShareOfOthers = 32;

/// Files of the kernel are read so: their size is not known before.
std::string kernel_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the number at the begin of a text; absent for "max", and for no text.
std::optional<std::uint64_t> first_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

/// The names of a version's files.
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* used;
};

constexpr GroupFiles files_of(MemoryGroup::Version version) {
  return version == MemoryGroup::Version::v1
             ? GroupFiles{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}
             : GroupFiles{"sys/fs/cgroup", "memory.max", "memory.current"};
}

/// Keeps the smaller one.
void limit_by(std::optional<AvailableMemory>& known, std::optional<std::uint64_t> bytes,
              const std::string& by) {
  if (bytes && (!known || *bytes < known->size.count)) known = AvailableMemory{{*bytes}, by};
}

/// Looks at the group and at all above it, whose limits are its own, too. A container may see its
/// own group as the mount itself: then its path does not exist there.
void limit_by_groups(std::optional<AvailableMemory>& known, const MemoryGroup& group,
                     const fs::path& root) {
  const GroupFiles files = files_of(group.version);
  const fs::path mount = root / files.mount;
  for (fs::path below = fs::path(group.path).relative_path();; below = below.parent_path()) {
    const fs::path folder = below.empty() ? mount : mount / below;
    limit_by(known,
             available_in_group(kernel_text(folder / files.limit), kernel_text(folder / files.used),
                                kernel_text(folder / "memory.stat")),
             "the control group " + folder.string());
    if (below.empty()) return;
  }
}

}  // namespace

std::optional<std::uint64_t> memory_value(std::string_view text, std::string_view key) {
  for (std::string_view line : split_lines(text)) {
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (line.starts_with(':')) line.remove_prefix(1);
    if (!line.starts_with(' ') && !line.starts_with('\t')) continue;  // A longer key.
    const auto value = first_number(line);
    if (value) return line.find("kB") == std::string_view::npos ? *value : *value << 10;
  }
  return std::nullopt;
}

std::vector<MemoryGroup> memory_groups(std::string_view cgroup) {
  std::vector<MemoryGroup> groups;
  for (const std::string_view line : split_lines(cgroup)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string path(line.substr(second + 1));
    const std::string controllers =
        "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (controllers == ",,")
      groups.push_back({MemoryGroup::Version::v2, path});
    else if (controllers.find(",memory,") != std::string::npos)
      groups.push_back({MemoryGroup::Version::v1, path});
  }
  return groups;
}

std::optional<std::uint64_t> available_in_group(std::string_view limit, std::string_view used,
                                                std::string_view statistics) {
  const auto most = first_number(limit);
  const auto now = first_number(used);
  if (!most || !now) return std::nullopt;
  std::uint64_t cache = 0;
  for (const char* kind : {"inactive_file", "active_file"}) {
    const auto of_all_below = memory_value(statistics, "total_" + std::string(kind));  // Version 1.
    cache += of_all_below.value_or(memory_value(statistics, kind).value_or(0));
  }
  const std::uint64_t kept = *now - std::min(cache, *now);
  return *most - std::min(kept, *most);
}

std::optional<AvailableMemory> available_memory(const fs::path& root) {
  std::optional<AvailableMemory> known;
  limit_by(known, memory_value(kernel_text(root / "proc/meminfo"), "MemAvailable"), "this machine");
  for (const MemoryGroup& group : memory_groups(kernel_text(root / "proc/self/cgroup")))
    limit_by_groups(known, group, root);
  return known;
}

void check_available_memory(Bytes wanted, std::string_view of_what, const fs::path& root) {
  const auto available = available_memory(root);
  if (!available) return;
  const Bytes spare{available->size.count - available->size.count / kShareOfOthers};
  if (wanted <= spare) return;
  throw Error(ErrorKind::capacity, "no room for " + to_string(wanted) + " of " +
                                       std::string(of_what) + ": " + available->limited_by +
                                       " can spare " + to_string(spare));
}

}  // namespace fastgpu
