// The memory that this process can still take, by the kernel and by the limits of its control
// groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu {

/// Returns the number after `key` in lines such as "MemAvailable: 900 kB" of /proc/meminfo, or
/// "inactive_file 4096" of memory.stat, in bytes; absent without such a line.
std::optional<std::uint64_t> memory_value(std::string_view text, std::string_view key);

/// The control group of a process that accounts for memory.
struct MemoryGroup {
  enum class Version : std::uint8_t { v1, v2 };

  Version version = Version::v2;
  std::string path;  ///< "/system.slice/job": below the hierarchy's mount.
  friend bool operator==(const MemoryGroup&, const MemoryGroup&) = default;
};

/// Returns the groups that the text of /proc/self/cgroup names: of version 1, version 2, or both.
std::vector<MemoryGroup> memory_groups(std::string_view cgroup);

/// Returns the bytes that a group may still take: what it uses of its limit does not count where it
/// is the cache of files. Absent without a limit. The texts are those of memory.max, memory.current
/// and memory.stat, or of their counterparts in version 1.
std::optional<std::uint64_t> available_in_group(std::string_view limit, std::string_view used,
                                                std::string_view statistics);

struct AvailableMemory {
  Bytes size{};
  std::string limited_by;  ///< "this machine", or "the control group /sys/fs/cgroup/job".
};

/// Returns the least of what the machine and each control group above the process has left; absent
/// if nothing is known. `root` has the folders proc and sys.
std::optional<AvailableMemory> available_memory(const std::filesystem::path& root = "/");

/// Throws ErrorKind::capacity, naming both sizes, if the machine cannot spare `wanted` of what it
/// has available: "no room for 70 TB of shared memory: this machine can spare 21 GB". Without the
/// check the kernel would end a process, and perhaps another one.
void check_available_memory(Bytes wanted, std::string_view of_what,
                            const std::filesystem::path& root = "/");

}  // namespace fastgpu
