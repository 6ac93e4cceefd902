#include "comm/fabric/shm_scope.hpp"

#include <sys/stat.h>

#include <string>
#include <system_error>

#include "base/files.hpp"

namespace fastgpu::comm::fabric {

std::uint64_t own_shm_scope(const std::filesystem::path& folder) {
  std::error_code error;
  std::string text = first_line_of("/proc/sys/kernel/random/boot_id") + " " +
                     std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0)
    text += " " + std::to_string(status.st_dev) + " " + std::to_string(status.st_ino);
  // FNV-1a, which is the same in each build.
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return hash | 1;
}

}  // namespace fastgpu::comm::fabric
