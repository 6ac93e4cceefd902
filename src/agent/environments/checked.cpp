#include "agent/environments/checked.hpp"

#include <fcntl.h>

#include <cerrno>
#include <ctime>

#include "agent/files/disk.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr time_t kBuildTime = 946'684'800;
constexpr unsigned kReadableFile = 0644;

/// Returns a path beside the build and not inside it, because the build's content is copied to
/// other nodes.
fs::path note_of(const fs::path& version) {
  return version.parent_path() / ("." + version.filename().string() + ".checked");
}

std::string note_for(const std::string& manifest) {
  return read_file("/proc/sys/kernel/random/boot_id").value_or("") + manifest + "\n";
}

}  // namespace

void set_build_time(const fs::path& file) {
  const timespec times[2] = {{kBuildTime, 0}, {kBuildTime, 0}};
  if (::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
    throw system_error("setting the time of " + file.string(), errno);
}

bool has_build_time(const struct stat& status) noexcept {
  return status.st_mtim.tv_sec == kBuildTime && status.st_mtim.tv_nsec == 0;
}

void note_checked(const fs::path& version, const std::string& manifest) try {
  write_atomically(note_of(version), note_for(manifest), kReadableFile);
} catch (const Error&) {
  forget_checked(version);
}

bool was_checked(const fs::path& version, const std::string& manifest) {
  return !manifest.empty() && read_file(note_of(version)) == note_for(manifest);
}

void forget_checked(const fs::path& version) noexcept {
  std::error_code ignored;
  fs::remove(note_of(version), ignored);
}

}  // namespace fastgpu::agent
